# Takes from kmath's textual IR what names a target or a build: string attributes ("target-cpu", "target-features",
# "no-builtins", ...: they would keep the functions from being inlined into programs), the triple and the data layout,
# the source's path, and module flags. The program that links the bitcode brings its own.
/^attributes #/ s/ "[^"]*"(="[^"]*")?//g
/^target (triple|datalayout) = /d
/^source_filename = /d
/^!llvm\.(module\.flags|ident|errno\.tbaa) = /d
