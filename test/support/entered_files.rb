# frozen_string_literal: true

require "active_support/cache/tiercel_store"
require "tmpdir"
require "support/listeners"
$LOAD_PATH.push(File.expand_path("../../tiercel-lab/lib", __dir__))
require "tiercel/lab/servers"

# The files of this project that a call enters, from the store to the bytes: for Ruby the files of the called methods,
# for C the called methods of our extensions. `rake files` writes both lists: the numbers to {RULES}, the names to
# {NAMES}.
module EnteredFiles
  LIB = File.expand_path("../../lib", __dir__)
  RULES = File.expand_path("../../ARCHITECTURE.md", __dir__)
  NAMES = File.expand_path("../golden/entered_files.txt", __dir__)
  # The maximum number of files that the project aims for.
  MOST = Hash.new(6).merge(tiers: 8).freeze
  # `rake files` writes between these lines.
  MARKS = ["<!-- rake files -->\n", "<!-- end of rake files -->\n"].freeze
  # An occasional call does extra work, such as saving the account, so the shortest of this many calls counts.
  RUNS = 5
  # A longer timeout than usual, in seconds, for a busy machine.
  TIMEOUT = 5

  Servers = Tiercel::Lab::Servers
  PLACES = {
    memory: ->(_) { ["memory:"] },
    shared: ->(dir) { ["shared:#{dir}/segment?size=16MB"] },
    file: ->(dir) { ["file:#{dir}/cache?timeout=#{TIMEOUT}"] },
    sqlite: ->(dir) { ["sqlite:#{dir}/cache.sqlite3?timeout=#{TIMEOUT}"] },
    memcached: ->(_) { ["#{server(:Memcached).url}?timeout=#{TIMEOUT}"] },
    redis: ->(_) { ["#{server(:Redis).url}?timeout=#{TIMEOUT}"] },
    # Without the bus, which would start trusting copies at an unpredictable time.
    tiers: ->(dir) { ["shared:#{dir}/near?size=16MB&ttl=3600&bus=false", "#{server(:Redis).url}?timeout=#{TIMEOUT}"] },
  }.freeze

  VALUE = { "id" => 1, "names" => %w[a b] }.freeze
  CALLS = {
    "read hit" => ->(store, _) { store.read("here") },
    "fetch hit" => ->(store, _) { store.fetch("here") { raise "a miss" } },
    "fetch miss" => ->(store, index) { store.fetch("missing/#{index}") { VALUE } },
    "write" => ->(store, _) { store.write("here", VALUE) },
    "tagged fetch" => ->(store, _) { store.fetch("tagged", tags: ["tag"]) { raise "a miss" } },
  }.freeze

  # The environments of the calls.
  WAYS = {
    "plain" => ->(_, &call) { call.call },
    **Listeners::ALL,
    "request-local cache" => lambda do |store, &call|
      store.respond_to?(:with_local_cache) ? store.with_local_cache(&call) : call.call
    end,
  }.freeze

  # The entered files: paths below lib/ without .rb, and names of C methods.
  Entered = Struct.new(:files, :methods) do
    def size = files.size
    def to_a = [*files, *methods]
  end

  class << self
    # @param name [Symbol] the name of a server class
    # @return [Object] a server shared by all calls of this process
    def server(name) = (@servers ||= {})[name] ||= Servers.const_get(name).new.start

    # @return [Hash{Symbol => Hash{String => Hash{String => Entered}}}] results by backend, call and environment
    def all = @all ||= PLACES.keys.to_h { |place| [place, of(place)] }

    # @param all [Hash] the result of {all}
    # @return [String] the table for {RULES}: number of files that each call enters
    def table(all)
      rows = all.map do |place, calls|
        name = place == :tiers ? "`shared:`, `redis:`" : "`#{place}:`"
        "| #{[name, *calls.map { |_, ways| numbers(place, ways) }].join(" | ")} |\n"
      end
      ["| | #{CALLS.keys.join(" | ")} |\n", "|#{" --- |" * (CALLS.size + 1)}\n", *rows].join
    end

    # @param all [Hash] the result of {all}
    # @return [String] the lists for {NAMES}
    def names(all)
      all.flat_map do |place, calls|
        calls.flat_map do |call, ways|
          plain = ways.fetch("plain").to_a
          others = ways.except("plain").map { |way, one| difference(way, plain, one.to_a) }
          ["#{place}, #{call}: #{plain.join(" ")}\n", *others]
        end
      end.join
    end

    # @param text [String] the text of {RULES}
    # @param table [String]
    # @return [String] the text with this table
    def replaced(text, table)
      before, _, after = text.partition(MARKS[0])
      "#{before}#{MARKS[0]}#{table}#{after[after.index(MARKS[1])..]}"
    end

    private

    # Returns a single number if the number is the same in every environment.
    def numbers(place, ways)
      counts = ways.values.map(&:size)
      counts = counts.uniq if counts.uniq.one?
      counts.map { |count| count > MOST[place] ? "**#{count}**" : count.to_s }.join(" / ")
    end

    def difference(way, plain, others)
      changes = (others - plain).map { |name| "+#{name}" } + (plain - others).map { |name| "-#{name}" }
      "  #{way}: #{changes.empty? ? "the same" : changes.join(" ")}\n"
    end

    # @return [Hash{String => Hash{String => Entered}}] results by call and environment
    def of(place)
      with_store(place) do |store|
        CALLS.to_h { |name, call| [name, WAYS.transform_values { |way| entered(store, call, way) }] }
      end
    end

    def with_store(place)
      Dir.mktmpdir("tiercel-files-") do |dir|
        store = ActiveSupport::Cache::TiercelStore.new(*PLACES.fetch(place).call(dir))
        store.clear
        yield store
      ensure
        store&.close
      end
    end

    # The first calls load files, query servers and fill copies; later calls are all alike.
    def entered(store, call, way)
      runs = nil
      way.call(store) do
        store.write("here", VALUE)
        store.write("tagged", VALUE, tags: ["tag"])
        2.times { call.call(store, unused) }
        runs = Array.new(RUNS) { traced(call, store, unused) }
      end
      runs.min_by { |run| [run.size, run.to_a] }
    end

    def unused = @unused = (@unused || 0) + 1

    def traced(call, store, index)
      files, methods = [], []
      trace = TracePoint.new(:call, :c_call) do |point|
        point.event == :call ? note_file(files, point.path) : note_method(methods, point)
      end
      trace.enable(target_thread: Thread.current) { call.call(store, index) }
      Entered.new(files.uniq.sort, methods.uniq.sort)
    end

    def note_file(files, path)
      return unless path.start_with?("#{LIB}/")
      files << path.delete_prefix("#{LIB}/").delete_prefix("tiercel/").delete_suffix(".rb")
    end

    # Attribute readers and Struct members are method calls too.
    def note_method(methods, point)
      owner = point.defined_class
      return unless owner&.name&.start_with?("Tiercel::") && owner.instance_method(point.method_id).source_location.nil?
      return if owner < Struct
      methods << "#{owner.name.delete_prefix("Tiercel::")}##{point.method_id}"
    end
  end
end
