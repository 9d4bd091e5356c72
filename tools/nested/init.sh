#!/bin/busybox sh
# shellcheck shell=dash
#
# /init of the middle machine: loads KVM, runs the inner machine, hands out
# what KVM says of it, and ends. Its ports: ttyS0 the console; ttyS2 the log
# of the exits; ttyS3 the inner machine's COM1.
#
# /inner holds the inner machine's own options, /esp what it boots.
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tracefs trace /sys/kernel/tracing
exec </dev/console >/dev/console 2>&1

# The machine that runs this one takes a triple fault (reboot=triple on the
# command line) for its end; the console has a moment to empty itself.
end() {
    echo "$*"
    sleep 0.1
    reboot -f
}

load_kvm() {
    insmod /lib/irqbypass.ko
    insmod /lib/kvm.ko
    if grep -qw svm /proc/cpuinfo; then
        insmod /lib/kvm-amd.ko nested=1
        ENTRIES='exit_reason == 0x80'
    else
        insmod /lib/kvm-intel.ko nested=1
        ENTRIES='exit_reason == 20 || exit_reason == 24'
    fi
    [ -e /dev/kvm ] || end "the middle machine has no /dev/kvm"
}

# What KVM traces: each instruction with which the hypervisor inside enters its
# guest (VMLAUNCH, VMRESUME, VMRUN; the guest's own, which exit, too, lie below
# 1 MiB), the check that failed where the entry is refused, and each exit that
# is passed on. An event probe shows the last as numbers instead of names.
trace_kvm() {
    cd /sys/kernel/tracing || return
    echo "guest_rip >= 0x100000 && ($ENTRIES)" >events/kvm/kvm_exit/filter
    # shellcheck disable=SC2016 # the probe's fields, not the shell's
    echo 'e:tollgate/nested_exit kvm/kvm_nested_vmexit_inject' \
        'code=$exit_code:x32 info1=$exit_info1:x64 info2=$exit_info2:x64' \
        >dynamic_events
    echo nocontext-info >trace_options
    for event in kvm/kvm_exit kvm/kvm_nested_vmenter_failed \
        tollgate/nested_exit; do
        echo 1 >events/$event/enable
    done
    cd /
}

# OVMF probes for a TPM at 0xFED40000: see make_firmware in
# tools/emulators.sh. Here each look is an exit, and the time lost would be 17
# seconds.
make_firmware() {
    local n=$(((0x12c0000 - $(stat -c %s /OVMF.fd)) / 65536))
    head -c 65536 /dev/zero | tr '\000' '\377' >/var/tmp/pad
    while [ $n -gt 0 ]; do
        cat /var/tmp/pad
        n=$((n - 1))
    done >/var/tmp/firmware
    cat /OVMF.fd >>/var/tmp/firmware
}

# The inner machine's line, on its way out as it grows. A serial port that QEMU
# writes to itself costs an interrupt for each byte, which is most of what a run
# on kvm-vmx took.
pass_on_line() {
    exec 4</line
    while [ ! -e /ended ]; do
        sleep 1
        cat <&4
    done
    cat <&4 # what came last
}

# lost_tick_policy: KVM would send the timer's ticks that piled up while this
# machine was slow, all at once; the handler's MOV to CR8 then meets a pending
# virtual interrupt, for which QEMU 7.2's TCG has an assertion.
run_inner() {
    # shellcheck disable=SC2046 # one word for each option
    qemu-system-x86_64 -accel kvm -machine q35 -m 256 -nodefaults \
        -display none -vga none -net none -monitor none -no-reboot \
        -global kvm-pit.lost_tick_policy=discard -bios /var/tmp/firmware \
        -drive file=fat:rw:/esp,format=raw \
        -device isa-debug-exit,iobase=0x501,iosize=4 \
        $(cat /inner)
    echo "the inner QEMU ended with status $?"
}

load_kvm
trace_kvm
make_firmware
stty -F /dev/ttyS3 raw 115200
: >/line
pass_on_line >/dev/ttyS3 &
run_inner
touch /ended
wait
stty -F /dev/ttyS2 raw 115200
cat /sys/kernel/tracing/trace >/dev/ttyS2
end "the middle machine ends"
