"""kiln_artifact: a model compiled for targets by actions of any Remote Execution cluster.

Each target is two actions of `kiln-cc` from a toolchain's tree: one writes the CompileSpec, one compiles by it, with the verbs and options
of a farm's own compiles. What comes out is program, weights and manifest as the compiler leaves them: unsigned, and evidence of
nothing. A farm publishes an artifact; this makes its bytes.
"""

def _kiln_artifact_impl(ctx):
    tools = depset(ctx.files.toolchain)
    outputs = []
    for target in ctx.attr.targets:
        folder = "%s/%s" % (ctx.label.name, target.replace(":", "-").replace("+", "-").replace(",", "_"))
        spec = ctx.actions.declare_file(folder + ".spec.json")
        output = ctx.actions.declare_directory(folder)
        profiles = [word for profile in ctx.attr.profiles for word in ["--profile", profile]]
        ctx.actions.run(
            executable = ctx.executable.compiler,
            arguments = ["spec", "--model", ctx.file.model.path, "--target", target, "--out", spec.path] + profiles,
            inputs = depset([ctx.file.model] + ctx.files.data, transitive = [tools]),
            outputs = [spec],
            env = _ENVIRONMENT,
            mnemonic = "KilnSpec",
        )
        ctx.actions.run(
            executable = ctx.executable.compiler,
            arguments = ["compile", "--model", ctx.file.model.path, "--spec", spec.path, "--out", output.path],
            inputs = depset([ctx.file.model, spec] + ctx.files.data, transitive = [tools]),
            outputs = [output],
            env = _ENVIRONMENT,
            mnemonic = "KilnCompile",
            progress_message = "Compiling %s for %s" % (ctx.file.model.short_path, target),
        )
        outputs += [spec, output]
    return [DefaultInfo(files = depset(outputs))]

# As a farm's compiles have it.
_ENVIRONMENT = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "PATH": "/nonexistent",
    "TZ": "UTC",
}

kiln_artifact = rule(
    implementation = _kiln_artifact_impl,
    doc = "Compiles a model for each target.",
    attrs = {
        "model": attr.label(allow_single_file = [".onnx"], mandatory = True),
        "data": attr.label_list(allow_files = True, doc = "external data beside the model"),
        "targets": attr.string_list(mandatory = True, allow_empty = False),
        "profiles": attr.string_list(doc = "NAME=N or NAME=MIN:OPT:MAX of symbolic dimensions"),
        "toolchain": attr.label(allow_files = True, mandatory = True, doc = "all files of a toolchain's tree"),
        "compiler": attr.label(
            allow_single_file = True,
            executable = True,
            cfg = "exec",
            mandatory = True,
            doc = "bin/kiln-cc of that tree, which is static",
        ),
    },
)
