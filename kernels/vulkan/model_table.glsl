/* SPDX-License-Identifier: Apache-2.0
 * The table of the model that the shader is built for. Not guarded: included
 * once for each reading, as NAME.def is.
 */
#if defined(MODEL_feagi)
#include "kernels/models/feagi.def"
#elif defined(MODEL_lif_psc_delta)
#include "kernels/models/lif_psc_delta.def"
#elif defined(MODEL_lif_psc_exp)
#include "kernels/models/lif_psc_exp.def"
#elif defined(MODEL_izhikevich)
#include "kernels/models/izhikevich.def"
#elif defined(MODEL_lif_cond_exp)
#include "kernels/models/lif_cond_exp.def"
#elif defined(MODEL_adex)
#include "kernels/models/adex.def"
#elif defined(MODEL_lif_psc_exp2)
#include "kernels/models/lif_psc_exp2.def"
#else
#error no MODEL_<id> is defined, or its table is not listed here
#endif
