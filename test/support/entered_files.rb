# frozen_string_literal: true

require "active_support/cache/tiercel_store"
require "active_support/notifications"
require "logger"
require "tmpdir"
$LOAD_PATH.push(File.expand_path("../../tiercel-lab/lib", __dir__))
require "tiercel/lab/servers"

# The files of ours that a call enters, from the store to the bytes: of Ruby the files of the methods that run, of C the
# methods of our extensions. `rake files` writes both lists of them: {RULES} has the numbers, {NAMES} the names.
module EnteredFiles
  LIB = File.expand_path("../../lib", __dir__)
  RULES = File.expand_path("../../PROJECT_RULES.md", __dir__)
  NAMES = File.expand_path("../golden/entered_files.txt", __dir__)
  # The goal.
  MOST = Hash.new(6).merge(tiers: 8).freeze
  # Between these lines is what `rake files` writes.
  MARKS = ["<!-- rake files -->\n", "<!-- end of rake files -->\n"].freeze
  # A call may do more now and then (an account that is due): of so many the shortest counts.
  RUNS = 5
  # Longer than usual, on a machine that is busy (seconds).
  TIMEOUT = 5

  Servers = Tiercel::Lab::Servers
  PLACES = {
    memory: ->(_) { ["memory:"] },
    shared: ->(dir) { ["shared:#{dir}/segment?size=16MB"] },
    file: ->(dir) { ["file:#{dir}/cache?timeout=#{TIMEOUT}"] },
    sqlite: ->(dir) { ["sqlite:#{dir}/cache.sqlite3?timeout=#{TIMEOUT}"] },
    memcached: ->(_) { ["#{server(:Memcached).url}?timeout=#{TIMEOUT}"] },
    redis: ->(_) { ["#{server(:Redis).url}?timeout=#{TIMEOUT}"] },
    # Without the bus, which says in its own time that copies may be read.
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

  # The surroundings of the calls.
  WAYS = {
    "plain" => ->(_, &call) { call.call },
    "subscriber" => lambda do |_, &call|
      ActiveSupport::Notifications.subscribed(->(*) {}, /\Acache_.*\.active_support\z/, &call)
    end,
    "debug logger" => lambda do |store, &call|
      before, store.logger = store.logger, Logger.new(File::NULL, level: Logger::DEBUG)
      call.call
    ensure
      store.logger = before
    end,
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
    # @param name [Symbol] of a class of servers
    # @return [Object] one for all calls of this process
    def server(name) = (@servers ||= {})[name] ||= Servers.const_get(name).new.start

    # @return [Hash{Symbol => Hash{String => Hash{String => Entered}}}] by place, call and way
    def all = @all ||= PLACES.keys.to_h { |place| [place, of(place)] }

    # @param all [Hash] as {all}
    # @return [String] for {RULES}: how many files each call enters
    def table(all)
      rows = all.map do |place, calls|
        name = place == :tiers ? "`shared:`, `redis:`" : "`#{place}:`"
        "| #{[name, *calls.map { |_, ways| numbers(place, ways) }].join(" | ")} |\n"
      end
      ["| | #{CALLS.keys.join(" | ")} |\n", "|#{" --- |" * (CALLS.size + 1)}\n", *rows].join
    end

    # @param all [Hash] as {all}
    # @return [String] for {NAMES}
    def names(all)
      all.flat_map do |place, calls|
        calls.flat_map do |call, ways|
          plain = ways.fetch("plain").to_a
          others = ways.except("plain").map { |way, one| difference(way, plain, one.to_a) }
          ["#{place}, #{call}: #{plain.join(" ")}\n", *others]
        end
      end.join
    end

    # @param text [String] of {RULES}
    # @param table [String]
    # @return [String] the same with this table
    def replaced(text, table)
      before, _, after = text.partition(MARKS[0])
      "#{before}#{MARKS[0]}#{table}#{after[after.index(MARKS[1])..]}"
    end

    private

    # One number where every way enters as many.
    def numbers(place, ways)
      counts = ways.values.map(&:size)
      counts = counts.uniq if counts.uniq.one?
      counts.map { |count| count > MOST[place] ? "**#{count}**" : count.to_s }.join(" / ")
    end

    def difference(way, plain, others)
      changes = (others - plain).map { |name| "+#{name}" } + (plain - others).map { |name| "-#{name}" }
      "  #{way}: #{changes.empty? ? "the same" : changes.join(" ")}\n"
    end

    # @return [Hash{String => Hash{String => Entered}}] by call and way
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

    # The first calls load files, ask servers what they are, and fill copies; those that follow are all alike.
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

    # Readers of attributes and of members are called likewise.
    def note_method(methods, point)
      owner = point.defined_class
      return unless owner&.name&.start_with?("Tiercel::") && owner.instance_method(point.method_id).source_location.nil?
      return if owner < Struct
      methods << "#{owner.name.delete_prefix("Tiercel::")}##{point.method_id}"
    end
  end
end
