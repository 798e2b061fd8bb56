# frozen_string_literal: true

require "tiercel"
require "yaml"

module Tiercel::Lab
  module Answer
    # The demands of an application on its cache.
    #
    # @!attribute [r] machines
    #   @return [Integer] number of machines that share the cache
    # @!attribute [r] workers
    #   @return [Integer] number of processes on each machine
    # @!attribute [r] memory_bytes
    #   @return [Integer] memory that the cache may use on each machine
    # @!attribute [r] survives
    #   @return [String] one of {SURVIVES}: the event that entries must survive
    # @!attribute [r] given
    #   @return [Array<String>] names of the constraints that the user gave; the machine suggests the others
    Constraints = Data.define(:machines, :workers, :memory_bytes, :survives, :given) do
      def initialize(machines: 1, workers: 1, memory_bytes: 256 * 1024 * 1024, survives: "nothing", given: []) = super

      # @return [Hash{String => Object}] the form of the results file
      def record = to_h.transform_keys(&:to_s)
    end

    class Constraints
      # In increasing order: a restart of the application (a deploy), a reboot of the machine.
      SURVIVES = %w[nothing restart reboot].freeze
      MEGABYTE = 1024 * 1024
      # The suggested memory: an eighth of the machine's memory, at most Tiercel's default size.
      MEMORY_SHARE = 8
      MOST_MEGABYTES = 256
      # The numbers that an application may have.
      COUNTS = { machines: 1..10_000, workers: 1..1_000 }.freeze
      # No cache has less, and no machine has more.
      MEMORY = ((64 * 1024)..(64 * (1024**4)))

      # @param record [Hash{String => Object}] a record from {#record}
      def self.from(record) = new(**record.transform_keys(&:to_sym))

      # Suggests constraints: one machine, one worker for each core.
      #
      # @param environment [Hash] see {Engine::Machine.describe}
      # @param given [Hash{Symbol => Object}] the user's constraints
      # @return [Constraints]
      def self.suggested(environment, **given)
        megabytes = [environment["memory_mb"].to_i / MEMORY_SHARE, MOST_MEGABYTES].min
        megabytes = MOST_MEGABYTES unless megabytes.positive?
        new(workers: environment["cores"], memory_bytes: megabytes * MEGABYTE, **given, given: given.keys.map(&:to_s))
      end

      # @param text [String] "512MB", "2GB"
      # @return [Integer] bytes
      # @raise [UsageError]
      def self.bytes(text)
        bytes = Tiercel::Sizes.parse(text)
        return bytes if MEMORY.cover?(bytes)
        raise UsageError, "--memory #{text}: expected a size from 64KB to 64TB, such as 512MB or 2GB"
      end

      # @param name [Symbol] one of {COUNTS}
      # @return [Integer]
      # @raise [UsageError]
      def self.count(name, number)
        known = COUNTS.fetch(name)
        return number if known.cover?(number)
        raise UsageError, "--#{name} #{number}: expected a number from #{known.begin} to #{known.end}"
      end

      # @return [Array<String>] command line options for the user's constraints
      def options = given.flat_map { |name| option(name) }

      # @param name [String]
      # @return [Array<String>] the option and its value
      def option(name)
        name == "memory_bytes" ? ["--memory", memory] : ["--#{name}", public_send(name).to_s]
      end

      private

      def memory = (memory_bytes % MEGABYTE).zero? ? "#{memory_bytes / MEGABYTE}MB" : "#{memory_bytes}B"
    end

    # The place where a store keeps its entries, and the processes that share them.
    #
    # @!attribute [r] reach
    # @return [Symbol] the processes that share its entries: those of a :process, a :machine or a :network
    # @!attribute [r] keeps
    #   @return [Symbol] medium of its entries: :memory, :disk or :server
    # @!attribute [r] near
    #   @return [Boolean] whether a near tier answers hits
    # @!attribute [r] segment
    #   @return [Boolean] whether it has a segment, alone or as a near tier
    # @!attribute [r] memories
    #   @return [Array<Memory>] its memories on the application's machine: segments, and folders in memory
    # @!attribute [r] remote
    #   @return [Boolean] whether the user's server runs on another machine
    # @!attribute [r] bounded
    #   @return [Boolean] whether it keeps within a size
    Place = Data.define(:reach, :keeps, :near, :segment, :memories, :remote, :bounded) do
      def initialize(reach:, keeps:, near: false, segment: false, memories: [], remote: false, bounded: true) = super
    end

    # @!attribute [r] of
    #   @return [Symbol] whether each :process or each :machine has it
    # @!attribute [r] bytes
    #   @return [Integer, nil] its size, if the store's text has one
    # @!attribute [r] least_bytes
    #   @return [Integer] the smallest possible size
    Memory = Data.define(:of, :bytes, :least_bytes)

    class Place
      SERVERS = %w[redis rediss unix redis+cluster memcached].freeze
      SEGMENTS = { "memory" => :process, "shared" => :machine }.freeze
      # Folders in memory. The lab's own folder for `file:` is one.
      TMPFS = %r{\A(?:\w+:)*(?:tmpfs(?=#|\z)|(?<=\Afile:)(?=[?#]|\z)|(?:/dev/shm|/run)(?=[/?#]|\z))}
      # Matches the address of a Unix socket in Rails' stores.
      SOCKET = %r{\A\w+:(?:unix:|/(?!/))}
      SIZE = /\bsize=([\d.]+\w*)/
      # The smallest segment, and the smallest folder or file of Tiercel's.
      SEGMENT_LEAST_BYTES = Constraints::MEGABYTE
      FOLDER_LEAST_BYTES = 4 * Constraints::MEGABYTE

      # @return [Symbol, nil] whether each :process or each :machine has its memory; nil: a disk or a server alone
      def memory_of = memories.last&.of

      # @return [Integer, nil] the size of its memories, if its text has all sizes
      def given_bytes = (memories.sum(&:bytes) if memories.any? && memories.all?(&:bytes))

      # @param workers [Integer] processes of a machine
      # @return [Integer] given sizes of all memories on a machine
      def taken_bytes(workers) = memories.sum { |one| one.bytes.to_i * (one.of == :process ? workers : 1) }

      class << self
        # @param text [String] text of a contestant, without a name of the user's
        # @param medium [String, nil] see {Contestant}; nil if the store's type is known here
        # @return [Place]
        def of(text, medium = nil)
          parsed = Contestants.parse(text, checks: false) # the folder may be on another machine
          return tiered(parsed.tiers, text) if parsed.is_a?(Contestants::TiercelStore)
          rails(text, medium || parsed.medium.to_s)
        rescue UsageError # a store of the user's whose file is not here
          rails(text, medium)
        end

        private

        def tiered(urls, text)
          urls = ["shared:"] if urls.empty?
          scheme = scheme(urls.last)
          near = urls.reverse.find { |url| SEGMENTS.key?(scheme(url)) }
          facts = { near: near != urls.last && !near.nil?, segment: !near.nil?,
                    reach: SEGMENTS[scheme] || reach(scheme), **memories(urls, text) }
          return new(keeps: :server, remote: remote?(urls.last), **facts) if SERVERS.include?(scheme)
          new(keeps: SEGMENTS.key?(scheme) || folder?(urls.last) ? :memory : :disk, **facts)
        end

        # The configuration's line gives a size to one memory only, so several memories need sizes in their text.
        def memories(urls, text)
          found = urls.filter_map { |url| memory(url, size(url, urls, text)) }
          { memories: found, bounded: found.size < 2 || found.all?(&:bytes) }
        end

        def memory(url, bytes)
          of = SEGMENTS[scheme(url)]
          return Memory.new(of:, bytes:, least_bytes: SEGMENT_LEAST_BYTES) if of
          Memory.new(of: :machine, bytes:, least_bytes: FOLDER_LEAST_BYTES) if folder?(url)
        end

        def folder?(url) = %w[file sqlite].include?(scheme(url)) && TMPFS.match?(url)

        def scheme(url) = url[/\A[^:]+/]

        # Returns the bytes of one memory. Its URL has the size; a store without tiers may have it as an option instead.
        def size(url, urls, text) = Tiercel::Sizes.parse(url[SIZE, 1] || (text[/#.*#{SIZE}/, 1] if urls.one?))

        # A socket belongs to one machine.
        def reach(scheme) = SERVERS.include?(scheme) && scheme != "unix" ? :network : :machine

        def remote?(url) = !url.start_with?("unix:") && Contestants.distance(url.sub(/\A[^:]*:/, "")) == :remote

        def rails(text, medium)
          return folder(text.delete_prefix("file_store:")) if text.start_with?("file_store")
          case medium
          when "loopback", "remote" then server(text, medium)
          when "disk" then new(reach: :machine, keeps: :disk)
          else new(reach: :process, keeps: :memory, memories: [of_process(text)])
          end
        end

        def of_process(text) = Memory.new(of: :process, bytes: size(text, [text], text), least_bytes: 0)

        def server(text, medium)
          return new(reach: :machine, keeps: :server) if SOCKET.match?(text)
          new(reach: :network, keeps: :server, remote: medium == "remote")
        end

        def folder(path)
          return new(reach: :machine, keeps: :disk) unless TMPFS.match?(path)
          new(reach: :machine, keeps: :memory, bounded: false,
              memories: [Memory.new(of: :machine, bytes: nil, least_bytes: 0)])
        end
      end
    end

    # A store that the answer may recommend.
    #
    # @!attribute [r] text
    #   @return [String] text of the contestant
    # @!attribute [r] place
    #   @return [Place] where it keeps its entries
    # @!attribute [r] line
    #   @return [String, nil] its line for the application's configuration, as it was measured
    # @!attribute [r] page_us
    #   @return [Statistics::Interval] cost of a page on this machine
    # @!attribute [r] margin
    #   @return [Float] margin of its verdicts, see {Statistics::Verdict}
    # @!attribute [r] page_calls
    #   @return [Float] calls of a page; each is one round trip to a server
    # @!attribute [r] page_bytes
    #   @return [Float, nil] size of a page's entries; nil if unknown
    # @!attribute [r] entry_bytes
    #   @return [Float] size of the largest of them
    Candidate = Data.define(:text, :place, :line, :page_us, :margin, :page_calls, :page_bytes, :entry_bytes) do
      def initialize(text:, place:, page_us:, line: nil, margin: 0.0, page_calls: 0.0, page_bytes: nil,
                     entry_bytes: 0.0) = super
    end

    class Candidate
      # Contestants that are only parts of a store, or that no application uses.
      PARTS = /\A(?:null_store|raw_\w+|steps|mem_cache_store_as_shipped)/

      # All stores that an answer may name. A run with constraints measures those of them that meet the constraints.
      ALL = ["memory_store", "tiercel:memory:", "tiercel:shared:", "file_store:disk", "tiercel:sqlite:",
             "tiercel:shared: sqlite:", "solid_cache_store", "litecache", "mem_cache_store", "redis_cache_store",
             "tiercel:memcached:", "tiercel:redis:", "tiercel:shared: redis:", "tiercel:shared: memcached:"].freeze

      # The share of the memory that the segment itself gets. The memo takes at most an eighth of the segment's size in
      # addition.
      SEGMENT_SHARE = 8 / 9r
      # An entry takes at most a quarter of the main log, which is somewhat smaller than a small segment.
      SEGMENT_ENTRIES = 5

      class << self
        # @param constraints [Constraints]
        # @return [Array<String>] contestants that meet all constraints
        def suiting(constraints)
          nothing = Statistics::Interval.new(0.0, 0.0, 0.0)
          ALL.reject { |text| of({ "text" => text }, page_us: nothing).breaks(constraints) }
        end

        # @param contestant [Hash{String => Object}] as a cell describes it
        # @param figures [Hash] page_us:, page_bytes: and the like
        # @return [Candidate, nil] nil for contestants that are no store for an application
        def of(contestant, **figures)
          text = contestant["text"].sub(/\A[\w.-]+=(?=\w)/, "")
          return if text.match?(PARTS) || contestant["keeps"] == false
          new(text: contestant["text"], line: contestant["configuration"],
              place: Place.of(text, contestant["medium"]), **figures)
        end
      end

      # @param constraints [Constraints]
      # @return [String, nil] the constraint that it breaks
      def breaks(constraints)
        return "each of #{constraints.workers} workers has its own" if private?(constraints)
        return "each of #{constraints.machines} machines has its own" if beyond_machine?(constraints)
        return "does not survive a #{constraints.survives}" if level(constraints) < needed(constraints)
        breaks_memory(constraints)
      end

      # @return [Integer, nil] number of pages that fit into the memory of one machine; nil if the entries are
      #   elsewhere or their size is unknown
      def pages(constraints)
        return unless page_bytes&.positive? && place.keeps == :memory
        (room_bytes(constraints) / page_bytes).floor
      end

      # Adds the size of the memory, unless the line has one. A segment in shared memory has the suggested size by
      # default.
      #
      # @param constraints [Constraints]
      # @return [String, nil] the line for the application's configuration
      def configuration(constraints)
        return line unless line && place.memory_of && !place.given_bytes
        return line if shared? && !constraints.given.include?("memory_bytes")
        size = size(room_bytes(constraints))
        urls.size > 1 ? with_near_size(size.delete('"')) : with_option("size: #{size}")
      end

      private

      def private?(constraints) = constraints.workers > 1 && place.reach == :process

      def beyond_machine?(constraints) = constraints.machines > 1 && place.reach != :network

      def needed(constraints) = Constraints::SURVIVES.index(constraints.survives)

      # A server on another machine survives a reboot of this machine; a server beside the application does not.
      def level(constraints)
        return constraints.machines > 1 || place.remote ? 2 : 1 if place.keeps == :server
        return 2 if place.keeps == :disk
        place.reach == :process ? 0 : 1
      end

      def breaks_memory(constraints)
        return unless place.memory_of
        return "has no limit of its memory" unless place.bounded
        taken = place.taken_bytes(constraints.workers)
        return "takes #{Report::Format.bytes(taken)}" if taken > constraints.memory_bytes
        return "a page does not fit into the memory" if pages(constraints)&.zero?
        room = room_bytes(constraints)
        least = place.memories.sum(&:least_bytes)
        return "needs at least #{Report::Format.bytes(least)}" if room < least
        "a value does not fit into the memory" if place.segment && room < entry_bytes * SEGMENT_ENTRIES
      end

      # @return [Integer] bytes of memory for entries, in each process or on each machine
      def room_bytes(constraints)
        return place.given_bytes if place.given_bytes
        (constraints.memory_bytes * (place.segment ? SEGMENT_SHARE : 1) / copies(constraints)).floor
      end

      # @return [Integer] number of such memories on a machine
      def copies(constraints) = place.memory_of == :process ? constraints.workers : 1

      def shared? = place.segment && place.memory_of == :machine

      def size(bytes)
        return bytes.to_s if bytes < Constraints::MEGABYTE
        megabytes = bytes / Constraints::MEGABYTE
        place.segment ? "\"#{megabytes}MB\"" : "#{megabytes}.megabytes"
      end

      # @return [Array<String>] the line's literals before the options
      def urls = line[/\A[^{]*/].scan(/"[^"]*"/)

      def with_near_size(size)
        near = urls.grep(/\A"(?:shared|memory):/).last
        line.sub(near) { "#{near.chop}#{near.include?("?") ? "&" : "?"}size=#{size}\"" }
      end

      # Extends the options in braces.
      def with_option(option)
        line.end_with?(" }") ? "#{line.delete_suffix(" }")}, #{option} }" : "#{line}, { #{option} }"
      end
    end

    # The page whose cache calls an answer adds up: an assumed one, or one that `tiercel-insight` recorded from a
    # running application (`bin/rails cache:profile FILE`).
    #
    # - `reads`: by the name of a value; `misses`: share of the reads that miss, each with a write
    # - `miss_us`: time of the block of a miss; 0 if unknown
    # - `round_trip_us`: of a call to a server on another machine
    # - `shrunk`: share of the reads that miss with a part of the memory, `[[0.125, 0.31], ...]`; empty if unknown
    # - `source`: the profile's file; nil for the assumed page
    Page = Data.define(:reads, :misses, :miss_us, :round_trip_us, :shrunk, :source) do
      # @return [Hash{String => Object}] the form of the results file
      def record = to_h.transform_keys(&:to_s)

      # If each process has its own store, the processes divide the memory, so each store holds less and misses more
      # often.
      #
      # @param part [Float] of the memory
      # @return [Float] share of the reads that miss
      def misses_with(part)
        return misses if part >= 1 || shrunk.empty?
        [shrunk.min_by { |factor, _| (Math.log(factor) - Math.log(part)).abs }.last, misses].max
      end

      def values = reads.keys

      # @return [String]
      def miss_words
        return "all of them hits" if misses.zero?
        all = Report::Format.duration(reads.each_value.sum * misses * miss_us / 1e6)
        "#{Report::Format.percent(misses)} of them miss and are written" \
          "#{"; to compute them takes #{all} with any store, not counted here" if miss_us.positive?}"
      end
    end

    class Page
      # Values for the sizes of a profile, by size.
      SIZED = %w[string-100b html-1kb html-2kb html-10kb html-24kb html-100kb html-822kb].freeze
      ASSUMED = new(reads: { "string-100b" => 20.0, "html-2kb" => 20.0, "html-24kb" => 3.0, "rows-50" => 1.0,
                             "books" => 1.0 }, misses: 0.05, miss_us: 0.0, round_trip_us: 500.0, shrunk: [],
                    source: nil)
      VERSION = 1

      class << self
        # @param record [Hash{String => Object}, nil] a record from {#record}
        def from(record) = record ? new(**record.transform_keys(&:to_sym)) : ASSUMED

        # Reads the file that `bin/rails cache:profile FILE` of tiercel-insight writes (Summary#profile); YAML as well.
        #
        # @param path [String]
        # @return [Page]
        # @raise [UsageError]
        def read(path)
          facts = YAML.safe_load_file(path)
          version = facts["version"] if facts.is_a?(Hash)
          refuse(path, "version", version, VERSION.to_s) unless version == VERSION
          reads, misses = facts.values_at("reads_per_request", "miss_ratio")
          unless reads.is_a?(Numeric) && reads.positive?
            refuse(path, "reads_per_request", reads, "a number > 0; the application has to serve requests first")
          end
          ratio = misses.is_a?(Numeric) && misses.between?(0, 1)
          refuse(path, "miss_ratio", misses, "a number from 0 to 1") unless ratio
          trip = facts["round_trip_ms"] || (ASSUMED.round_trip_us / 1e3)
          refuse(path, "round_trip_ms", trip, "milliseconds >= 0") unless trip.is_a?(Numeric) && !trip.negative?
          new(reads: sizes(facts["bytes"], reads.to_f, path), misses: misses.to_f, source: path,
              miss_us: facts["miss_ms"].to_f * 1e3, round_trip_us: trip * 1e3,
              shrunk: Array(facts["worth"]).map { |one| one.values_at("factor", "miss_ratio") })
        rescue SystemCallError, Psych::Exception => e
          raise UsageError, "--profile #{path}: #{e.message.lines.first.strip}"
        end

        private

        def refuse(path, name, found, expected)
          raise UsageError, "--profile #{path}: #{name}: #{found.inspect}: expected #{expected}"
        end

        # Each tenth of the reads has its size (p10 to p90), which counts as the lab's value of the nearest size.
        def sizes(tenths, reads, path)
          found = tenths.is_a?(Hash) ? tenths.values.select { |bytes| bytes.is_a?(Numeric) && bytes.positive? } : []
          refuse(path, "bytes", tenths, "sizes of read values; no read was sampled yet") if found.empty?
          found.each_with_object(Hash.new(0.0)) { |bytes, sums| sums[nearest(bytes)] += reads / found.size }.to_h
        end

        def nearest(bytes)
          SIZED.min_by { |name| (Math.log(Values.fetch(name).approximate_bytes) - Math.log(bytes)).abs }
        end
      end
    end

    # The store that the reader's application has now: named by `--now`, or found in its configuration, which is read
    # as text and never run.
    module Now
      FILE = "config/environments/production.rb"
      # The store's name, its literal places, and whether another argument follows that is no option.
      LINE = /^\s*config\.cache_store\s*=\s*\[?\s*:(\w+)((?:\s*,\s*["'][^"'#]*["'])*)(\s*,\s*+(?!\{|\w+:\s))?/
      # Rails' names, and the lab's contestant for each.
      STORES = { "memory_store" => "memory_store", "file_store" => "file_store:disk",
                 "mem_cache_store" => "mem_cache_store", "redis_cache_store" => "redis_cache_store",
                 "solid_cache_store" => "solid_cache_store", "litecache" => "litecache",
                 "null_store" => "null_store" }.freeze

      # The store of Tiercel that takes the place of each store of Rails, with one line changed (`switch`).
      IN_PLACE = { "redis_cache_store" => "tiercel:redis:", "mem_cache_store" => "tiercel:memcached:",
                   "solid_cache_store" => "tiercel:shared: sqlite:", "memory_store" => "tiercel:shared:" }.freeze
      # Schemes of Tiercel's that stand for another one.
      SCHEMES = { "rediss" => "redis", "unix" => "redis" }.freeze

      module_function

      # @param text [String] Rails' name of a store, or any contestant
      # @return [String] text of a contestant
      # @raise [UsageError]
      def named(text) = Contestants.parse(STORES.fetch(text.delete_prefix(":"), text)).text

      # A store of the user's servers and files becomes the same store in the lab's own places: the lab never writes
      # into an application's cache.
      #
      # @param folder [String] root of an application
      # @return [String, nil] text of a contestant; nil without such a line, or if its places are no literals
      def found(folder = Dir.pwd)
        match = File.read(File.join(folder, FILE), encoding: "BINARY").match(LINE) or return
        store, places, more = match.captures
        return STORES[store] unless store == "tiercel_store"
        schemes = places.scan(/["']([a-z+]+):/).flatten
        more ? nil : ["tiercel", schemes.map { |scheme| "#{SCHEMES.fetch(scheme, scheme)}:" }.join(" ")]
                     .reject(&:empty?).join(":")
      rescue SystemCallError
        nil
      end
    end
  end
end
