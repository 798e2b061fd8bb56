# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    module Herd
      # A process of the herd. Its threads fetch a key at the same moment.
      class Member < Load::Client
        # The maker of the value that has expired.
        OLD = "old"
        VALUE_BYTES = 1_000
        # The TTL of stored values, longer than any run.
        KEPT_SECONDS = 3_600
        # The key for testing whether processes see each other's writes.
        PROBE = "probe"

        # @param text [String] text of the contestant
        # @param label [String] label of its keys, the same in all processes
        # @param index [Integer] index of the process
        # @param threads [Integer]
        # @param context [Hash] see {Engine::Context#initialize}
        # @return [Hash] see {Engine::Outcome.of}
        def open(text:, label:, index:, threads:, context:)
          @index, @threads, @label = index, threads, label
          @names = {}
          build(text, context)
        end

        # @param key [String]
        # @param expires_in [Float] seconds
        # @param options [Hash{Symbol => Object}] options of the write
        # @return [Hash]
        def write(key:, expires_in: KEPT_SECONDS, options: {})
          Engine::Outcome.of { store.write(name(key), value(OLD), expires_in:, **options) }
        end

        # @param key [String]
        # @return [Hash] "maker" of the stored value, if there is one
        def read(key:)
          Engine::Outcome.of { { maker: store.read(name(key))&.then { |found| maker(found) } }.compact }
        end

        # Each thread fetches the key once.
        #
        # @param key [String]
        # @param at [Float] monotonic seconds, see {Load::Arrivals}
        # @param block_ms [Float]
        # @param options [Hash{Symbol => Object}] options of the fetch
        # @return [Hash] "calls": for each thread its delay and duration (ms), and the maker of its value; "blocks": for
        #   each block its maker, start and end (ms after `at`)
        def fetch(key:, at:, block_ms:, options:)
          Engine::Outcome.of do
            blocks = Queue.new
            keys = Load::Keys.new(items: 1)
            calls = Load::Driver.in_threads(@threads) do |thread|
              arrivals = Load::Arrivals.new(requests: 1, at:)
              given = nil
              found = Load::Driver.new.run(arrivals, keys, measure: "each") do
                given = fetched(name(key).dup, options) do
                  made("#{@index}-#{thread}", at, block_ms).tap { |block| blocks << block }.first
                end
              end
              [ms(found[:late_seconds]), ms(found[:ns].first / 1e9), maker(given)]
            end
            { calls:, blocks: Array.new(blocks.size) { blocks.pop } }
          end
        end

        # @return [true]
        def close
          store.delete_multi(@names.values) if @subjects.any?
          super
        end

        private

        def name(key) = @names[key] ||= "tiercel-lab:#{@label}:#{key}"

        # @yieldreturn [String] the maker of the value
        def fetched(name, options) = store.fetch(name, expires_in: KEPT_SECONDS, **options) { value(yield) }

        # Runs the block: sleeps for its duration.
        #
        # @return [Array] the maker, and from when to when it ran
        def made(maker, at, block_ms)
          from = now
          sleep(block_ms / 1e3)
          [maker, ms(from - at), ms(now - at)]
        end

        def value(maker) = "#{maker}:".ljust(VALUE_BYTES, "x")

        def maker(found)
          maker = found.to_s[/\A[^:]*/]
          raise WrongValue, "something else came back than was written" unless found == value(maker)
          maker
        end

        def ms(seconds) = (seconds * 1e3).round(3)
      end
    end
  end
end
