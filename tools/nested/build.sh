#!/bin/bash
# Makes the middle machine of the platforms kvm-svm and kvm-vmx: a Linux whose
# KVM nests, with this machine's QEMU and OVMF in it. It comes out of Debian
# packages that are unpacked here and installed nowhere.
#
#   tools/nested/build.sh DIR      (make nested: DIR is build/nested)
#
# Leaves in DIR: vmlinux, for QEMU; vmlinuz and efi.stub, for Bochs's disk;
# initramfs and initramfs.lz4; busybox, whose cpio adds a run's own files.
set -eu
INIT=$(cd "$(dirname "$0")" && pwd)/init.sh
FIRMWARE=/usr/share/ovmf/OVMF.fd
mkdir -p "$1"
cd "$1"

die() {
    echo "nested: $*" >&2
    exit 1
}

# The name of the newest kernel package; clouds' kernels have KVM and little
# else, which is what a slow machine likes.
kernel_package() {
    apt-cache depends linux-image-cloud-amd64 2>/dev/null |
        awk '/Depends: linux-image-/ { print $2; exit }'
}

# unpack PACKAGE: its files under ./packages; one download, one unpacking.
unpack() {
    local mark=packages/.$1
    [ ! -e "$mark" ] || return 0
    apt-get -qq download "$1" >download.log 2>&1 ||
        die "cannot download $1: $(tail -n 1 download.log)"
    dpkg -x "$1"_*.deb packages
    rm -f "$1"_*.deb download.log
    touch "$mark"
}

# number OFFSET SIZE: a number in the kernel's setup header.
number() {
    od -An -tu"$2" -j "$1" -N "$2" vmlinuz | tr -d ' '
}

# The kernel within the kernel (Linux, x86 boot protocol: setup_sects,
# payload_offset, payload_length), so that no emulator has to run the code
# that unpacks it. The last four bytes are the unpacked size.
unpack_kernel() {
    local start=$((($(number 0x1f1 1) + 1) * 512 + $(number 0x248 4)))
    tail -c +$((start + 1)) vmlinuz | head -c $(($(number 0x24c 4) - 4)) |
        lz4 -dcq >vmlinux || die "the kernel's payload is not LZ4"
}

# A program and the libraries that it is linked with.
add_program() {
    cp -L "$1" root/bin/
    ldd "$1" | awk '/=> \// { print $3 }' | xargs -I{} cp -Ln {} root/lib/
}

# Without their debug information, and so without signature, modules load
# just as well.
add_modules() {
    local kernel=packages/lib/modules/$1/kernel module
    for module in virt/lib/irqbypass arch/x86/kvm/kvm arch/x86/kvm/kvm-amd \
        arch/x86/kvm/kvm-intel; do
        strip --strip-debug -o "root/lib/${module##*/}.ko" "$kernel/$module.ko"
    done
}

make_root() {
    rm -rf root
    mkdir -p root/bin root/dev root/lib root/lib64 root/proc root/sys \
        root/share/qemu root/var/tmp
    cp busybox root/bin/
    cp "$INIT" root/init
    chmod 755 root/init
    add_modules "$1"
    add_program "$(command -v qemu-system-x86_64)"
    cp -L /lib64/ld-linux-x86-64.so.2 root/lib64/
    cp -L /usr/share/qemu/kvmvapic.bin root/share/qemu/
    cp -L "$FIRMWARE" root/
}

for needed in apt-get dpkg lz4 qemu-system-x86_64 "$FIRMWARE"; do
    [ -e "$needed" ] || command -v "$needed" >/dev/null ||
        die "$needed is missing: tools/deps.sh run kvm-svm installs it"
done
KERNEL=$(kernel_package)
[ -n "$KERNEL" ] || die "apt knows no linux-image-cloud-amd64: run" \
    "'apt-get update' as root, on Debian for amd64"
mkdir -p packages
unpack "$KERNEL"
unpack busybox-static
unpack systemd-boot-efi
cp "packages/boot/vmlinuz-${KERNEL#linux-image-}" vmlinuz
cp packages/usr/lib/systemd/boot/efi/linuxx64.efi.stub efi.stub
cp packages/bin/busybox busybox
unpack_kernel
make_root "${KERNEL#linux-image-}"
(cd root && find . | LC_ALL=C sort | ../busybox cpio -o -H newc -R 0:0) \
    >initramfs 2>/dev/null
lz4 -qlf9 initramfs initramfs.lz4 # the format that the kernel reads
