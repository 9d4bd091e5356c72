# shellcheck shell=bash
# Part of run-qemu.sh: starts the middle machine of kvm-svm and kvm-vmx, whose
# KVM runs the inner machine with Tollgate in it. See build.sh and init.sh
# here for what it is made of and what it does.
NESTED=$ROOT/build/nested

# quiet: each character on the console costs time. cryptomgr.notests: nobody
# here needs ciphers, and their self-tests are half of the boot's
# instructions. reboot=triple: how init.sh ends the machine.
NESTED_BOOT="console=ttyS0,115200 quiet panic=-1 reboot=triple nokaslr \
norandmaps mitigations=off cryptomgr.notests audit=0 apparmor=0 tsc=reliable"

need_nested() {
    need objcopy binutils
    [ -e "$NESTED/initramfs.lz4" ] ||
        die "the middle machine is missing: run 'make nested' first"
}

# What differs from run to run, as one more archive of the initramfs.
make_nested_files() {
    local port=-serial
    [ "$TRANSPORT" != e9 ] || port=-debugcon
    mkdir nested
    cp -r esp nested/esp
    echo "-cpu ${CPU:-host} -smp $CPUS $port file:/line" >nested/inner
    (cd nested && find . | "$NESTED/busybox" cpio -o -H newc -R 0:0) \
        >nested.cpio 2>/dev/null
}

# Instructions are the clock (icount), so that a run repeats: without that,
# QEMU 7.2's TCG also aborts now and then in this use.
start_nested_qemu() {
    local witness=witness
    [ -n "$WITNESS" ] || witness=/dev/null
    make_nested_files
    cat "$NESTED/initramfs" nested.cpio >initrd
    exec timeout -k 5 "$LIMIT" qemu-system-x86_64 -accel tcg -machine q35 \
        -cpu EPYC,+svm,+npt -m 1024 -icount shift=0,sleep=off -seed 1 \
        -rtc base=2024-01-01T00:00:00,clock=vm -nodefaults -display none \
        -vga none -net none -monitor none -no-reboot -serial file:middle \
        -serial null -serial "file:$witness" -serial file:line \
        -kernel "$NESTED/vmlinux" -initrd initrd -append "$NESTED_BOOT"
}

# Kernel, initramfs and command line as one EFI program, which firmware boots
# by itself. The kernel takes several archives in a row, compressed ones last.
make_nested_disk() {
    cat nested.cpio "$NESTED/initramfs.lz4" >initrd
    printf '%s tsc_early_khz=%s' "$NESTED_BOOT" $(($1 / 1000)) >cmdline
    mkdir -p middle-esp/EFI/BOOT
    objcopy --add-section .cmdline=cmdline \
        --change-section-vma .cmdline=0x30000 \
        --add-section .linux="$NESTED/vmlinuz" \
        --change-section-vma .linux=0x2000000 \
        --add-section .initrd=initrd --change-section-vma .initrd=0x4000000 \
        "$NESTED/efi.stub" middle-esp/EFI/BOOT/BOOTX64.EFI
    make_disk middle-esp
}

# The firmware talks on COM1 and COM2 alone.
# ips: the lower, the fewer instructions go into waiting for the clock, here
# and in both firmwares, and the more into the timer's ticks. Bochs's TSC runs
# at that rate, whatever CPUID says: hence tsc_early_khz.
start_nested_bochs() {
    local ips=25000000 witness=witness
    [ -n "$WITNESS" ] || witness=/dev/null
    make_nested_files
    make_nested_disk $ips
    make_bochsrc corei7_skylake_x $ips 1024 1 >bochsrc
    cat >>bochsrc <<EOF
com1: enabled=1, mode=file, dev=middle
com3: enabled=1, mode=file, dev=$witness
com4: enabled=1, mode=file, dev=line
panic: action=fatal
debug: action=ignore
log: bochs.log
EOF
    run_bochs
}
