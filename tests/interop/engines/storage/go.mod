module kiln/engines/storage

go 1.26.5

replace go.uber.org/mock => go.uber.org/mock v0.4.0

require github.com/buildbarn/bb-storage v0.0.0-20260805174928-33530b6bb903
replace google.golang.org/genproto/googleapis/bytestream => ./bytestream
