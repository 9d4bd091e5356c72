#!/bin/bash
# Sees to the Debian packages that a target needs.
#
#   tools/deps.sh build|run [PLATFORM]|check
#
# Installs what is missing with apt-get, as root or through a sudo that asks
# for no password; else prints the command and fails. When nothing is missing
# it is one dpkg-query.
set -eu

BUILD=(gcc binutils libc6-dev nasm gnu-efi libjansson-dev libxml2-dev)
QEMU=(qemu-system-x86 ovmf)
BOCHS=(bochs bochsbios vgabios ovmf mtools)
NESTED=("${QEMU[@]}" lz4) # and what tools/nested/build.sh unpacks
CHECK=(clang clang-format cppcheck shellcheck libcmocka-dev babeltrace2
    libxml2-utils socat)

case ${1:-run} in
build) WANTED=("${BUILD[@]}") ;;
run)
    case ${2:-qemu-svm} in
    bochs-*) WANTED=("${BUILD[@]}" "${BOCHS[@]}") ;;
    kvm-svm) WANTED=("${BUILD[@]}" "${NESTED[@]}") ;;
    kvm-vmx) WANTED=("${BUILD[@]}" "${NESTED[@]}" "${BOCHS[@]}") ;;
    *) WANTED=("${BUILD[@]}" "${QEMU[@]}") ;;
    esac
    ;;
check)
    WANTED=("${BUILD[@]}" "${NESTED[@]}" "${BOCHS[@]}" "${CHECK[@]}")
    ;;
*) echo "usage: tools/deps.sh build|run [PLATFORM]|check" >&2 && exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "deps: not a Debian system; these packages' programs must be there:"
    echo "    ${WANTED[*]}"
    exit 0
fi >&2

# dpkg-query fails when it does not know one of them: that is an answer too.
INSTALLED=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' \
    "${WANTED[@]}" 2>/dev/null || true)
MISSING=()
for package in "${WANTED[@]}"; do
    grep -qxF "installed $package" <<<"$INSTALLED" || MISSING+=("$package")
done
[ ${#MISSING[@]} -gt 0 ] || exit 0

AS_ROOT=()
if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "deps: packages are missing; install them and try again:"
        echo "    sudo apt-get install --no-install-recommends ${MISSING[*]}"
        exit 1
    fi >&2
    AS_ROOT=(sudo -n)
fi

echo "deps: installing ${MISSING[*]}" >&2
install() {
    "${AS_ROOT[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq \
        -o Dpkg::Use-Pty=0 install --no-install-recommends -y "${MISSING[@]}"
}
# A fresh machine has no package lists, an old one outdated ones.
install >/dev/null 2>&1 || {
    "${AS_ROOT[@]}" apt-get -qq update >&2
    install >/dev/null
}
