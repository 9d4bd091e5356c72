# shellcheck shell=bash
# Part of run-qemu.sh: starts QEMU or Bochs with Tollgate in it. Each runs in
# $WORK and is exec'd under `timeout`.

# OVMF probes for a TPM at 0xFED40000. QEMU answers 0 for an address that
# nobody claims, which looks like a TPM that is always busy: 1.6 s lost. A
# ROM image that is padded in front with 0xFF down to that address answers
# "no TPM". Flash devices (pflash) cannot be that large.
make_firmware() {
    local tpm=$((0xfed40000)) size
    size=$(stat -Lc %s /usr/share/ovmf/OVMF.fd)
    head -c $((0x100000000 - tpm - size)) /dev/zero |
        tr '\000' '\377' >firmware.bin
    cat /usr/share/ovmf/OVMF.fd >>firmware.bin
}

# The vmexit and vmrun lines of TCG belong to the log class in_asm, whose
# bulk is the disassembly of what is translated: -dfilter restricts that to
# one address at which nothing can run. -d int adds every other interrupt.
start_qemu() {
    local args=(-machine q35 -m 256 -smp "$CPUS" -nodefaults -display none
        -vga none -net none -monitor none -no-reboot -bios firmware.bin
        -drive "file=fat:rw:esp,format=raw"
        -device "isa-debug-exit,iobase=0x501,iosize=4")
    make_firmware
    if [ "$TRANSPORT" = e9 ]; then
        args+=(-debugcon file:line)
    else
        args+=(-serial file:line)
    fi
    if [ "$PLATFORM" = kvm ]; then
        args+=(-accel kvm -cpu "${CPU:-host}")
    else
        args+=(-accel tcg -cpu "${CPU:-EPYC,+svm}")
    fi
    [ -z "$WITNESS" ] ||
        args+=(-D witness -d "int,in_asm" -dfilter 0x8000000000000000+1)
    exec timeout -k 5 "$LIMIT" qemu-system-x86_64 "${args[@]}"
}

# make_disk DIR: its files on a FAT volume without a partition table, which
# OVMF boots as it is. A cylinder has 504 KiB; FAT32 wants 130 at least.
make_disk() {
    CYLINDERS=$((130 + $(du -sk "$1" | cut -f 1) / 504))
    truncate -s $((CYLINDERS * 504))K disk.img
    mformat -i disk.img -t "$CYLINDERS" -h 16 -s 63 -F ::
    mcopy -i disk.img -s "$1"/* ::
}

# make_bochsrc MODEL IPS MIB CPUS: a machine with that disk; ports and log
# follow.
# sound: Bochs aborts at start ("buffer overflow detected") without dummies.
# error: ignored, since a guest that loops on one fills the disk.
# panic: fatal ends Bochs at port 0x8900's "Shutdown".
make_bochsrc() {
    cat <<EOF
display_library: rfb, options="timeout=0"
cpu: model=$1, count=$4, ips=$2, reset_on_triple_fault=0
memory: guest=$3, host=$3
romimage: file=/usr/share/ovmf/OVMF.fd, address=0xffe00000
vgaromimage: file=/usr/share/vgabios/vgabios.bin
pci: enabled=1, chipset=i440fx
vga: extension=none, update_freq=1, realtime=0
clock: sync=none, time0=1704067200
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=disk, path=disk.img, mode=volatile, cylinders=$CYLINDERS, \
heads=16, spt=63
sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy
error: action=ignore
info: action=ignore
EOF
}

# Debian's Bochs has the debugger built in and stops at its prompt at start
# and at some events (a triple fault): an rc file full of "c" goes on.
run_bochs() {
    yes c | head -n 100 >debugger.rc || true
    exec timeout -k 5 "$LIMIT" bochs -q -f bochsrc -rc debugger.rc
}

# ips:   the UART keeps simulated time, so this sets how long a byte takes in
#        wall time; 5 million give 100 KB/s.
# panic: one of the CPU model is only reported, for it may be what a scenario
#        is about.
start_bochs() {
    local model log=witness com1=line
    [ -n "$WITNESS" ] || log=/dev/null
    [ "$TRANSPORT" != e9 ] || com1=/dev/null
    case $PLATFORM in
    *-tigerlake) model=tigerlake ;;             # MTF, SPP, CET
    *-arrandale) model=corei5_arrandale_m520 ;; # GETSEC, and little else
    *-svm) model=ryzen ;;
    *) model=corei7_skylake_x ;;
    esac
    make_disk esp
    make_bochsrc "${CPU:-$model}" 5000000 256 "$CPUS" >bochsrc
    cat >>bochsrc <<EOF
com1: enabled=1, mode=file, dev=$com1
port_e9_hack: enabled=1
panic: action=fatal, cpu0=report
debug: action=ignore${WITNESS:+, cpu0=report}
log: $log
EOF
    [ "$TRANSPORT" != e9 ] || exec >line # where Bochs puts port 0xE9's bytes
    run_bochs
}

# Bochs's CPU log is megabytes of the firmware's page walks: they are dropped
# on the way, every other line stays as it is. TCG's log needs no filter.
filter_witness() {
    grep -av 'page walk for address\|inhibit interrupts mask' || true
}
