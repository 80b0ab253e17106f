rule:
    name:
        module_name
    input:
        data=alg_input_data(),
    output:
        seqgraph=alg_output_seqgraph_path(module_name),
        time=alg_output_time_path(module_name),
        ntests=alg_output_ntests_path(module_name),
    container:
        # None runs the script in the environment that Snakemake runs in. To use a container instead, build the
        # Dockerfile of this folder and write "docker://" and the name of the image here.
        None
    script:
        "script.py"
