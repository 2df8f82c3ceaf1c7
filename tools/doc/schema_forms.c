/* SPDX-License-Identifier: Apache-2.0
 * JSON Schema of the forms of values: see schema_forms.h.
 */
#include "tools/doc/schema_forms.h"

const char *const schema_forms[VLY_FORMS] = {
    [VLY_FORM_TEXT] = "{\"type\": \"string\"}",
    [VLY_FORM_BOOL] = "{\"type\": \"boolean\"}",
    [VLY_FORM_NUMBER] =
        "{\"anyOf\": [{\"type\": \"number\"}, {\"$ref\": \"#/$defs/"
        "expression\"}]}",
    [VLY_FORM_WHOLE] = "{\"anyOf\": [{\"type\": \"integer\", \"minimum\": 0}, "
                       "{\"$ref\": \"#/$defs/expression\"}]}",
    [VLY_FORM_CELL] =
        "{\"anyOf\": [{\"$ref\": \"#/$defs/one\"}, {\"type\": \"array\", "
        "\"minItems\": 1, \"items\": {\"type\": \"array\", \"minItems\": 1, "
        "\"items\": {\"$ref\": \"#/$defs/one\"}}}]}",
    [VLY_FORM_COUNTS] =
        "{\"anyOf\": [{\"$ref\": \"#/$defs/number\"}, {\"type\": \"array\", "
        "\"minItems\": 1, \"items\": {\"type\": \"array\", \"minItems\": 1, "
        "\"items\": {\"$ref\": \"#/$defs/number\"}}}]}",
    [VLY_FORM_EACH] = "{\"anyOf\": [{\"$ref\": \"#/$defs/number\"}, {\"$ref\": "
                      "\"#/$defs/value.column\"}, {\"$ref\": "
                      "\"#/$defs/value.each\"}, {\"$ref\": "
                      "\"#/$defs/value.course\"}, {\"type\": \"array\", "
                      "\"items\": {\"$ref\": \"#/$defs/number\"}}]}",
    [VLY_FORM_PER_AREA] =
        "{\"anyOf\": [{\"$ref\": \"#/$defs/number\"}, {\"type\": \"array\", "
        "\"items\": {\"$ref\": \"#/$defs/number\"}}]}",
    [VLY_FORM_AREAS] =
        "{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"array\", "
        "\"minItems\": 1, \"items\": {\"type\": \"string\"}}]}",
    [VLY_FORM_LINKS] = "{\"type\": \"array\", \"minItems\": 1, \"items\": "
                       "{\"type\": \"string\"}}",
    [VLY_FORM_TRIPLE] =
        "{\"type\": \"array\", \"minItems\": 3, \"maxItems\": 3, "
        "\"items\": {\"$ref\": \"#/$defs/number\"}}",
    [VLY_FORM_TRIPLES] =
        "{\"type\": \"array\", \"minItems\": 1, \"items\": "
        "{\"type\": \"array\", \"minItems\": 3, \"maxItems\": 3, "
        "\"items\": {\"$ref\": \"#/$defs/number\"}}}",
    [VLY_FORM_PATTERNS] =
        "{\"type\": \"array\", \"minItems\": 1, \"items\": "
        "{\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2, "
        "\"items\": {\"type\": \"array\", \"minItems\": 3, \"maxItems\": "
        "3, \"items\": {\"anyOf\": [{\"$ref\": \"#/$defs/number\"}, "
        "{\"enum\": [\"*\", \"?\", \"!\"]}]}}}}",
    [VLY_FORM_ANY] = "true",
    [VLY_FORM_PAIRS] =
        "{\"type\": \"array\", \"minItems\": 1, \"items\": "
        "{\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2, "
        "\"items\": {\"$ref\": \"#/$defs/number\"}}}",
    [VLY_FORM_TIMES] =
        "{\"type\": \"array\", \"items\": {\"anyOf\": [{\"$ref\": "
        "\"#/$defs/number\"}, {\"type\": \"array\", \"items\": {\"$ref\": "
        "\"#/$defs/number\"}}]}}",
    [VLY_FORM_INDEXES] =
        "{\"type\": \"array\", \"minItems\": 1, \"items\": "
        "{\"anyOf\": [{\"type\": \"integer\", \"minimum\": 0}, {\"$ref\": "
        "\"#/$defs/expression\"}]}}",
    [VLY_FORM_PORT] = "{\"anyOf\": [{\"type\": \"integer\", \"minimum\": 0}, "
                      "{\"type\": \"string\"}]}",
    [VLY_FORM_MODEL] = "{\"anyOf\": [{\"type\": \"string\"}, {\"$ref\": "
                       "\"#/$defs/area.model\"}]}",
    [VLY_FORM_FORMAT] = "{\"const\": 1}",
    [VLY_FORM_NUMBERS] =
        "{\"type\": \"object\", \"additionalProperties\": {\"$ref\": "
        "\"#/$defs/number\"}}",
    [VLY_FORM_TEXTS] = "{\"type\": \"object\", \"additionalProperties\": "
                       "{\"type\": \"string\"}}",
    [VLY_FORM_SET] = "{\"type\": \"object\"}",
    [VLY_FORM_PAIR] = "{\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2, "
                      "\"items\": {\"$ref\": \"#/$defs/number\"}}",
    [VLY_FORM_CLIP] = "{\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2, "
                      "\"items\": {\"anyOf\": [{\"$ref\": "
                      "\"#/$defs/number\"}, {\"type\": \"string\"}]}}",
    [VLY_FORM_EVERY] = "{\"anyOf\": [{\"type\": \"number\"}, {\"$ref\": "
                       "\"#/$defs/many\"}]}",
    [VLY_FORM_BOX] =
        "{\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2, "
        "\"items\": {\"type\": \"array\", \"minItems\": 3, \"maxItems\": "
        "3, \"items\": {\"$ref\": \"#/$defs/number\"}}}",
    [VLY_FORM_PERIODS] =
        "{\"anyOf\": [{\"type\": \"boolean\"}, {\"type\": \"array\", "
        "\"minItems\": 3, \"maxItems\": 3, \"items\": {\"anyOf\": "
        "[{\"type\": \"boolean\"}, {\"$ref\": \"#/$defs/number\"}]}}]}",
    [VLY_FORM_AMOUNT] =
        "{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"number\"}]}",
    [VLY_FORM_AMOUNTS] =
        "{\"type\": \"object\", \"additionalProperties\": {\"anyOf\": "
        "[{\"type\": \"string\"}, {\"type\": \"number\"}, {\"$ref\": "
        "\"#/$defs/quantity\"}]}}",
    [VLY_FORM_NUMBER_LIST] =
        "{\"type\": \"array\", \"minItems\": 1, \"items\": "
        "{\"$ref\": \"#/$defs/number\"}}",
    [VLY_FORM_ONES] = "{\"type\": \"array\", \"minItems\": 1, \"items\": "
                      "{\"$ref\": \"#/$defs/one\"}}",
    [VLY_FORM_BOUNDS] =
        "{\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2, "
        "\"items\": {\"anyOf\": [{\"type\": \"string\"}, {\"type\": "
        "\"number\"}]}}",
};
