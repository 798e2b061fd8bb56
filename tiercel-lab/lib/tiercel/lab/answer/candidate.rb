# frozen_string_literal: true

require_relative "../report/format"
require_relative "constraints"
require_relative "place"

module Tiercel
  module Lab
    module Answer
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
        # Contestants that measure parts of a store, or other things than a store for an application.
        PARTS = /\A(?:null_store|raw_\w+|steps|mem_cache_store_as_shipped)/

        # All stores that an answer may name. A run with constraints measures those that meet them.
        ALL = ["memory_store", "tiercel:memory:", "tiercel:shared:", "file_store:disk", "tiercel:sqlite:",
               "tiercel:shared: sqlite:", "solid_cache_store", "litecache", "mem_cache_store", "redis_cache_store",
               "tiercel:memcached:", "tiercel:redis:", "tiercel:shared: redis:", "tiercel:shared: memcached:"].freeze

        # A segment's part of the memory: the memo takes at most an eighth of the segment's size beside it.
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
    end
  end
end
