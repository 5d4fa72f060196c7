# Takes from kmath's textual IR what names a target or a build: string attributes ("target-cpu", "target-features",
# "no-builtins", ...: they would keep the functions from being inlined into programs), the triple and the data layout,
# the path of the source (a fixed name instead: llvm-as would put its own input there), and module flags.
/^attributes #/ s/ "[^"]*"(="[^"]*")?//g
/^target (triple|datalayout) = /d
s/^source_filename = .*/source_filename = "kmath"/
/^!llvm\.(module\.flags|ident|errno\.tbaa) = /d
