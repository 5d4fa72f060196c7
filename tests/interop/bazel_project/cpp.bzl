"""Objects and programs by the g++ of whatever runs the action."""

def _cpp_object(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".o")
    ctx.actions.run_shell(
        inputs = [ctx.file.src] + ctx.files.hdrs,
        outputs = [out],
        arguments = [ctx.file.src.path, out.path],
        command = "PATH=/usr/bin:/bin exec g++ -O1 -c \"$1\" -o \"$2\"",
        mnemonic = "CppObject",
    )
    return DefaultInfo(files = depset([out]))

cpp_object = rule(
    implementation = _cpp_object,
    attrs = {
        "src": attr.label(allow_single_file = [".cc"]),
        "hdrs": attr.label_list(allow_files = [".h"]),
    },
)

def _cpp_program(ctx):
    out = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.run_shell(
        inputs = ctx.files.objects,
        outputs = [out],
        arguments = [out.path] + [one.path for one in ctx.files.objects],
        command = "out=$1; shift; PATH=/usr/bin:/bin exec g++ \"$@\" -o \"$out\"",
        mnemonic = "CppProgram",
    )
    return DefaultInfo(files = depset([out]), executable = out)

cpp_program = rule(
    implementation = _cpp_program,
    attrs = {"objects": attr.label_list()},
    executable = True,
)
