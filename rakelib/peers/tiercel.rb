# frozen_string_literal: true

# Tiercel's side of `rake peers`: the cases of apcu.php with `shared:`. Prints a line for each case: its name, and
# nanoseconds of CPU time per call.
require "tiercel"
require "tmpdir"

OPTIONS = { "shared:" => {}, "frozen" => { frozen: true }, "memo: false" => { memo: false } }.freeze

def cpu_ns = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)

def calls(store, names, number)
  at = 0
  while number.positive?
    raise "missing: #{names[at]}" if store.read(names[at]).nil?
    at += 1
    at = 0 if at == names.size
    number -= 1
  end
end

def measure(store, name, values, seconds)
  names = Array.new(values.size) { |index| format("peers:%s:%06d", name, index) }
  names.zip(values) { |key, value| store.write(key, value) }
  names.shuffle!(random: Random.new(1))
  calls(store, names, [names.size, 1_000].max)
  number = 1_000
  loop do
    began = cpu_ns
    calls(store, names, number)
    ns = cpu_ns - began
    return puts(format("%s %.1f", name, ns.fdiv(number))) if ns >= seconds * 1e9
    number *= 2
  end
end

def row(index)
  { "id" => index, "name" => "Product #{index}", "price" => index * 1.25, "available" => (index % 3).zero?,
    "description" => "word " * 20 }
end

options, seconds = OPTIONS.fetch(ARGV[0]), Float(ARGV[1] || 0.2)
folder = Dir.mktmpdir("peers", File.directory?("/dev/shm") ? "/dev/shm" : Dir.tmpdir)
begin
  store = Tiercel.new("shared:#{folder}/segment", size: "256MB", **options)
  measure(store, "string-1kb", Array.new(100) { |index| "#{index}:".ljust(1_024, "x") }, seconds)
  measure(store, "string-24kb", Array.new(100) { |index| "#{index}:".ljust(24_576, "x") }, seconds)
  measure(store, "rows-50", Array.new(100) { |index| Array.new(50) { |row| row(index + row) } }, seconds)
  measure(store, "string-1kb-20000", Array.new(20_000) { |index| "#{index}:".ljust(1_024, "x") }, seconds)
ensure
  FileUtils.rm_rf(folder)
end
