# SPDX-License-Identifier: Apache-2.0
foreach(name
    cmd_rerun cmd_run folder_state run_bounds_part run_change run_change_log run_checkpoint run_checkpoint_plan
    run_claim run_counts run_failover run_files run_files_part run_folder run_folder_lock run_inputs run_job run_log run_limits
    run_memory_part run_output run_output_report run_pace run_pace_part run_parts run_paths run_probe run_ranks run_ranks_report
    run_rates run_record
    run_record_part run_report run_result run_resume run_sample run_sample_read run_summary_part run_swap run_weights run_window_keep
    run_weights_figures run_weights_save)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
