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
          Engine::Outcome.of { build(text, context) && {} }
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
        # @param at [Float] monotonic seconds
        # @param block_ms [Float]
        # @param options [Hash{Symbol => Object}] options of the fetch
        # @return [Hash] "calls": for each thread its delay and duration (ms), and the maker of its value; "blocks": for
        #   each block its maker, start and end (ms after `at`)
        def fetch(key:, at:, block_ms:, options:)
          Engine::Outcome.of do
            blocks = Queue.new
            name = name(key)
            calls = Load.in_threads(@threads) do |thread|
              late = Load.wait_until(at)
              began = Load.now
              given = fetched(name.dup, options) do
                made("#{@index}-#{thread}", at, block_ms).tap { |block| blocks << block }.first
              end
              [ms(late), ms(Load.now - began), maker(given)]
            end
            { calls:, blocks: Array.new(blocks.size) { blocks.pop } }
          end
        end

        private

        def name(key) = @names[key] ||= "tiercel-lab:#{@label}:#{key}".tap { |name| subject.names << name }

        # @yieldreturn [String] the maker of the value
        def fetched(name, options) = store.fetch(name, expires_in: KEPT_SECONDS, **options) { value(yield) }

        # Runs the block: sleeps for its duration.
        #
        # @return [Array] the maker, and from when to when it ran
        def made(maker, at, block_ms)
          from = Load.now
          sleep(block_ms / 1e3)
          [maker, ms(from - at), ms(Load.now - at)]
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
