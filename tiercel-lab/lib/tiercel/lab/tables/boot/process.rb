# frozen_string_literal: true

# {Tiercel::Lab::Tables::Boot::Trial} runs this program in a fresh process without the lab. The program boots the store
# that its first argument configures, and prints the cost. Libraries that every Rails application loads are not counted.
require "active_support"
require "active_support/cache"

cpu = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
bytes = -> { File.read("/proc/self/status")[/^VmRSS:\s*(\d+) kB/, 1].to_i * 1024 }

bytes.call
GC.start
files = $LOADED_FEATURES.size
before_bytes = bytes.call
before = cpu.call
store = ActiveSupport::Cache.lookup_store(*eval("[#{ARGV.first}]")) # rubocop:disable Security/Eval
found = store.read("tiercel-lab-boot")
seconds = cpu.call - before
after_bytes = bytes.call
abort "a read of a name that nobody wrote returned #{found.class}" unless found.nil?
puts format("%.6f %d %d", seconds, after_bytes - before_bytes, $LOADED_FEATURES.size - files)
