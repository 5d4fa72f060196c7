#!/bin/sh -e
# Makes this folder's signatures again, with new keys: `make.sh OUT` where model_signing (the Python package
# model-signing, 1.1.1) and openssl are on the PATH.
mkdir -p "$1" && cd "$1"
mkdir -p model/subdir model/.git links
printf 'signme-1\n' > model/signme-1
printf 'signme-2' > model/signme-2
: > model/ignore-me
printf 'adapter' > 'model/subdir/ein Gewicht ä.bin'
printf 'x' > model/.git/HEAD
for curve in p256:prime256v1 p384:secp384r1 p521:secp521r1; do
  name=${curve%%:*}
  openssl ecparam -name "${curve#*:}" -genkey -noout -out $name.key
  openssl ec -in $name.key -pubout -out $name.pem
  model_signing sign key model --private_key $name.key --signature $name.sig --ignore-paths model/ignore-me
done
printf 'data' > links/real
ln -s real links/link
model_signing sign key links --private_key p256.key --signature links.sig --allow_symlinks
model_signing sign key model/signme-1 --private_key p256.key --signature file.sig
