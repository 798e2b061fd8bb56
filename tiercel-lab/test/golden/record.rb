# frozen_string_literal: true

# Makes a small run of each command, and keeps its results with its output for golden_test.rb.
#
#   bin/exec ruby -Itiercel-lab/lib tiercel-lab/test/golden/record.rb            # missing runs
#   bin/exec ruby -Itiercel-lab/lib tiercel-lab/test/golden/record.rb sizes ...  # measures these runs again
#   bin/exec ruby -Itiercel-lab/lib tiercel-lab/test/golden/record.rb --render   # renders all runs again
require "open3"
require "tmpdir"
require_relative "recording"

module Record
  QUICK = %w[--quick --budget 0.001].freeze
  RUNS = {
    "boot" => %w[--quick --rounds 2 --store memory_store,redis_cache_store,tiercel:shared:],
    "capabilities" => %w[--quick --store memory_store --store tiercel:shared: --store redis_cache_store],
    "client" => [*QUICK, *%w[--value string-1kb --op client_get --server memcached]],
    "cold" => [*QUICK, *%w[--keys 200 --op read,read_multi --store memory_store --store tiercel:shared:]],
    "compare" => [*QUICK, *%w[--store memory_store --store tiercel:memory: --store tiercel:shared:
                              --store tiercel:redis:#compress=false --value string-1kb --op read]],
    "compare-sides" => [*QUICK, *%w[memory_store tiercel:memory: --value string-1kb]],
    "compressors" => [*QUICK, *%w[--value html-1kb --compressor none,lz4_flex,zstd]],
    "end-to-end" => [*QUICK, *%w[--value rows-50 --serializer marshal,auto --compressor none,zlib,zstd
                                 --store memory_store]],
    "herd" => %w[--quick --store memory_store --store redis_cache_store --store tiercel:shared:
                 --store tiercel:redis:],
    "latency" => %w[--quick --round-trips 0.5 --iterations 40 --store redis_cache_store --store tiercel:shared:],
    "profile" => [*QUICK, *%w[memory_store --no-raw --seconds 0.2]],
    "selfcheck" => %w[--recordings 1 --budget 0.001 --processes 6],
    "serializers" => [*QUICK, *%w[--value rows-50 --serializer marshal,json,auto]],
    "sizes" => [*QUICK, *%w[--size 2KB,822KB --store memory_store --store file_store:tmpfs
                            --store mem_cache_store_as_shipped#compress=false]],
    "sqlite" => [*QUICK, *%w[--value string-100b --store litecache --store tiercel:sqlite:]],
    "all" => %w[--quick --only capabilities,boot --within 5]
  }.freeze

  module_function

  # @param name [String] one of {RUNS}
  def measure(name)
    Dir.mktmpdir do |folder|
      command = name.delete_suffix("-sides")
      out, err, status = Open3.capture3("bin/lab", command, *RUNS.fetch(name), "--results", folder)
      keep(name, out, folder, status.exitstatus) { raise "#{name}: #{out}#{err}" }
    end
  end

  # @yield if the run kept no results
  def keep(name, out, folder, code)
    file = Dir[File.join(folder, "*.jsonl")].first || yield
    recording = Recording.new(name)
    recording.write(Tiercel::Lab::Engine::Results.load(file), printed: out, folder:)
    same = recording.rendered == recording.printed && recording.renderings["exit_code"] == code
    raise "#{name}: report does not print what the run printed, or it ended otherwise (#{code})" unless same
    Recording.keep([recording])
  end

  # Records the printed form again.
  def render
    Recording.all.each { |recording| File.write(recording.printed_path, recording.rendered) }
    Recording.keep(Recording.all)
  end
end

if $PROGRAM_NAME == __FILE__
  names = ARGV.empty? ? Record::RUNS.keys - Recording.all.map(&:name) : ARGV
  ARGV == ["--render"] ? Record.render : names.each { |name| Record.measure(name) }
end
