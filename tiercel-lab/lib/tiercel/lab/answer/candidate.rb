# frozen_string_literal: true

require_relative "../errors"
require_relative "../stores"
require_relative "constraints"

module Tiercel
  module Lab
    module Answer
      # A store that the answer may recommend.
      #
      # @!attribute [r] text
      #   @return [String] text of the contestant
      # @!attribute [r] configuration
      #   @return [String, nil] the line for the application's configuration
      # @!attribute [r] reach
      #   @return [Symbol] which processes share its entries: those of a :process, a :machine or a :network
      # @!attribute [r] keeps
      #   @return [Symbol] medium of its entries: :memory, :disk or :server
      # @!attribute [r] near
      #   @return [Boolean] whether a near tier on the machine answers hits of a network store
      # @!attribute [r] page_us
      #   @return [Statistics::Interval] cost of a page on this machine
      # @!attribute [r] margin
      #   @return [Float] margin of its verdicts, see {Statistics::Verdict}
      # @!attribute [r] page_calls
      #   @return [Float] calls of a page; each is one round trip to a server
      # @!attribute [r] page_bytes
      #   @return [Float, nil] size of a page's entries; nil if unknown
      Candidate = Data.define(:text, :configuration, :reach, :keeps, :near, :page_us, :margin, :page_calls,
                              :page_bytes) do
        def initialize(text:, reach:, keeps:, page_us:, configuration: nil, near: false, margin: 0.0,
                       page_calls: 0.0, page_bytes: nil) = super

        # @param constraints [Constraints]
        # @return [String, nil] the constraint that it breaks
        def breaks(constraints)
          return "each of #{constraints.workers} workers has its own" if private?(constraints)
          return "each of #{constraints.machines} machines has its own" if constraints.machines > 1 && reach != :network
          return "does not survive a #{constraints.survives}" if level(constraints) < needed(constraints)
          "a page does not fit into the memory" if pages(constraints)&.zero?
        end

        # @return [Integer, nil] number of pages that fit into the memory of one machine; nil if the entries are
        #   elsewhere or their size is unknown
        def pages(constraints)
          return unless page_bytes&.positive? && keeps == :memory
          copies = reach == :process ? constraints.workers : 1
          (constraints.memory_bytes / (page_bytes * copies)).floor
        end

        private

        def private?(constraints) = constraints.workers > 1 && reach == :process

        def needed(constraints) = Constraints::SURVIVES.index(constraints.survives)

        # A server on another machine survives a reboot of this machine; a server beside the application does not.
        def level(constraints)
          return constraints.machines > 1 ? 2 : 1 if keeps == :server
          return 2 if keeps == :disk
          reach == :process ? 0 : 1
        end
      end

      class Candidate
        SERVERS = /\A(?:redis|rediss|unix|redis\+cluster|memcached)\z/
        # Contestants that measure parts of a store, or other things than a store for an application.
        PARTS = /\A(?:null_store|raw_\w+|steps|mem_cache_store_as_shipped)/

        # Stores that a run with constraints measures by default.
        ALL = ["memory_store", "tiercel:memory:", "tiercel:shared:", "file_store:tmpfs", "file_store:disk",
               "tiercel:sqlite:", "tiercel:shared: sqlite:", "mem_cache_store", "redis_cache_store",
               "tiercel:memcached:", "tiercel:redis:", "tiercel:shared: redis:"].freeze
        # Maximum number of stores that it measures by default.
        MOST = 6

        class << self
          # @param constraints [Constraints]
          # @return [Array<String>] contestants that meet all constraints
          def suiting(constraints)
            nothing = Statistics::Interval.new(0.0, 0.0, 0.0)
            ALL.reject { |text| of({ "text" => text }, page_us: nothing).breaks(constraints) }.first(MOST)
          end

          # @param contestant [Hash{String => Object}] as a cell describes it
          # @param figures [Hash] page_us:, page_bytes:
          # @return [Candidate, nil] nil for contestants that are no store for an application
          def of(contestant, **figures)
            text = contestant["text"].sub(/\A[\w.-]+=(?=\w)/, "")
            return if text.match?(PARTS) || contestant["keeps"] == false
            new(text: contestant["text"], configuration: configuration(contestant), **place(text, contestant),
                **figures)
          end

          private

          # Replaces the lab's folder on a tmpfs, which no application has.
          def configuration(contestant)
            line = contestant["configuration"]
            contestant["text"] == "file_store:tmpfs" ? line&.sub("tmp/cache", "/dev/shm/cache") : line
          end

          def place(text, contestant)
            parsed = Contestants.parse(text)
            return tiered(parsed.tiers) if parsed.is_a?(Contestants::TiercelStore)
            rails(text, contestant["medium"] || parsed.medium.to_s)
          rescue UsageError # a store of the user's whose file is not here
            rails(text, contestant["medium"])
          end

          def tiered(urls)
            last = urls.empty? ? "shared" : urls.last[/\A[^:]+/] # without a URL it is shared:
            return { reach: :network, keeps: :server, near: urls.size > 1 } if last.match?(SERVERS)
            return { reach: :process, keeps: :memory } if last == "memory"
            { reach: :machine, keeps: last == "shared" ? :memory : :disk }
          end

          def rails(text, medium)
            return { reach: :machine, keeps: text.start_with?("file_store:tmpfs") ? :memory : :disk } if disk?(text)
            case medium
            when "loopback", "remote" then { reach: :network, keeps: :server }
            when "disk" then { reach: :machine, keeps: :disk }
            else { reach: :process, keeps: :memory }
            end
          end

          def disk?(text) = text.start_with?("file_store")
        end
      end
    end
  end
end
