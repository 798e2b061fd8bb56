# frozen_string_literal: true

# The segment's C core without Ruby. The head of each program describes its checks.
native = lambda do |name, build, arguments = "", **options|
  program = "$PWD/tmp/native/#{build}"
  command name, "make -s -C test/native OUT=$PWD/tmp/native #{program} && #{program} #{arguments}".strip, **options
end

%w[gcc clang asan].each { |kind| native.call("segment: operations (#{kind})", "#{kind}/operations_test") }
native.call "segment: tags (AddressSanitizer)", "asan/tags_test"
native.call "segment: tags (ThreadSanitizer)", "tsan/tags_test", "20000"
native.call "segment: threads (ThreadSanitizer)", "tsan/threads_test", "20000"
native.call "segment: threads (gcc)", "gcc/threads_test"
native.call "segment: registration", "gcc/registration_test"
native.call "segment: registration (ThreadSanitizer)", "tsan/registration_test"
native.call "segment: processes, 60 of them killed", "gcc/processes_test", "60000 60"
native.call "segment: processes, 20 of them killed (AddressSanitizer)", "asan/processes_test", "10000 20"
native.call "segment: stop points", "stop/stop_test"
native.call "segment: stop points (AddressSanitizer)", "stop-asan/stop_test"
native.call "segment: repairs that are killed too", "stop/repair_stop_test"
native.call "segment: leases (AddressSanitizer)", "asan/lease_test"
native.call "segment: leases (ThreadSanitizer)", "tsan/lease_test"
native.call "segment: leases, at stop points (AddressSanitizer)", "stop-asan/lease_stop_test"
native.call "segment: near fills (AddressSanitizer)", "asan/near_test"
native.call "segment: near fills (ThreadSanitizer)", "tsan/near_test"
native.call "segment: edges and damaged files (AddressSanitizer)", "guarded/hostile_test"
native.call "segment: what the system does to its file (AddressSanitizer)", "played/platform_test"
# The same inputs in each run; --long has other ones.
{ "segment" => [12_000, 600], "lease" => [12_000, 2_000], "memo" => [1_000, 2_000],
  "bytes" => [400_000, 2_000] }.each do |part, (runs, longest)|
  native.call "segment: #{part}, fuzzed", "fuzz/#{part}_fuzzer",
              "-seed=1 -len_control=0 -runs=#{runs} -max_len=#{longest} -verbosity=0"
end

# The portable build: only POSIX and C11.
%w[operations lease near registration].each do |name|
  native.call "segment: #{name} (portable, AddressSanitizer)", "portable-asan/#{name}_test"
end
native.call "segment: registration (portable, ThreadSanitizer)", "portable-tsan/registration_test"
native.call "segment: threads (portable, ThreadSanitizer)", "portable-tsan/threads_test", "20000"
native.call "segment: stop points (portable)", "portable-stop/stop_test"
native.call "segment: leases, at stop points (portable)", "portable-stop/lease_stop_test"
native.call "segment: processes, 60 of them killed (portable)", "portable/processes_test", "60000 60"

native.call "segment: processes, ten million reads, 1,000 of them killed", "gcc/processes_test", "3000000 1000",
            long: true
native.call "segment: threads, long (ThreadSanitizer)", "tsan/threads_test", "500000", long: true
{ "segment" => 600, "lease" => 2000, "memo" => 2000, "bytes" => 2000 }.each do |part, longest|
  native.call "segment: #{part}_fuzzer for ten minutes", "fuzz/#{part}_fuzzer",
              "-max_total_time=600 -max_len=#{longest} -verbosity=0", long: true
end

# Another C library. Its compiler finds no Linux headers, so this is the portable build.
musl = "command -v musl-gcc || { echo 'No musl here: type bin/setup long'; false; }"
{ "operations" => "", "registration" => "", "lease" => "", "near" => "", "threads" => "200000",
  "processes" => "60000 60" }.each do |program, arguments|
  path = "$PWD/tmp/native/musl/#{program}_test"
  shell = "(#{musl}) && make -s -C test/native OUT=$PWD/tmp/native #{path} && #{path} #{arguments}"
  command "segment: #{program} (musl)", shell.strip, long: true
end

# Checks another processor's code only: an emulator on x86-64 has the memory order of x86-64.
tools = "command -v aarch64-linux-gnu-gcc qemu-aarch64-static || { echo 'No ARM64 compiler or emulator here: type " \
        "bin/setup long'; false; }"
{ "operations" => "", "threads" => "200000", "processes" => "60000 60" }.each do |program, arguments|
  path = "$PWD/tmp/native/arm64/#{program}_test"
  shell = "(#{tools}) && make -s -C test/native OUT=$PWD/tmp/native #{path} && qemu-aarch64-static #{path} #{arguments}"
  command "segment: #{program} (ARM64, emulated)", shell.strip, long: true
end
