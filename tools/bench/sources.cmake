# SPDX-License-Identifier: Apache-2.0
foreach(name
    bench_asked bench_attention bench_attention_check bench_attention_devices
    bench_attention_row bench_attention_sweep
    bench_case bench_checkpoint bench_compare bench_cuda bench_energy bench_files
    bench_gemm bench_gemm_shapes bench_loop bench_machine bench_pair
    bench_plan bench_plastic bench_probe bench_product bench_product_table bench_result
    bench_rwkv bench_rwkv_model bench_scale bench_scale_model
    bench_scale_replay bench_stress bench_sweep bench_tensor
    bench_wkv cmd_bench)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
