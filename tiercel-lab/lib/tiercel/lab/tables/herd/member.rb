# frozen_string_literal: true

require_relative "../../engine/subject"

module Tiercel
  module Lab
    module Tables
      module Herd
        # One process of the herd: its threads fetch a key at the same moment.
        class Member
          # Who made the value that has ended.
          OLD = "old"
          VALUE_BYTES = 1_000
          # Of what is stored: longer than any run.
          KEPT_SECONDS = 3_600
          # A key that tells whether processes see what one of them wrote.
          PROBE = "probe"

          # @param text [String] of the contestant
          # @param label [String] of its keys, the same in all processes
          # @param index [Integer] of the process
          # @param threads [Integer]
          # @param context [Hash] see {Engine::Context#initialize}
          # @return [Hash] see {Engine::Outcome.of}
          def open(text:, label:, index:, threads:, context:)
            @index = index
            @threads = threads
            @label = label
            @names = {}
            Engine::Outcome.of { @subject = Engine::Subject.new(text:, values: [], prefix: label, context:) }
          end

          # @param key [String]
          # @param expires_in [Float] seconds
          # @param options [Hash{Symbol => Object}] of the write
          # @return [Hash]
          def write(key:, expires_in: KEPT_SECONDS, options: {})
            Engine::Outcome.of { store.write(name(key), value(OLD), expires_in:, **options) }
          end

          # @param key [String]
          # @return [Hash] "maker": who made what is stored; none where nothing is
          def read(key:)
            Engine::Outcome.of { { maker: store.read(name(key))&.then { |found| maker(found) } }.compact }
          end

          # @param key [String]
          # @param at [Float] seconds of the monotonic clock, which all processes of a machine share
          # @param block_ms [Float]
          # @param options [Hash{Symbol => Object}] of the fetch
          # @return [Hash] "calls": of each thread how late it came, how long it took (both ms) and who made what it was
          #   given; "blocks": who ran one, and from when to when (ms after `at`)
          def fetch(key:, at:, block_ms:, options:)
            Engine::Outcome.of do
              blocks = Queue.new
              threads = Array.new(@threads) do |thread|
                quiet_thread { call(name(key), "#{@index}-#{thread}", at, block_ms, options, blocks) }
              end
              calls = threads.map(&:value)
              { calls:, blocks: Array.new(blocks.size) { blocks.pop } }
            end
          end

          # @return [true]
          def close
            return true unless @subject
            store.delete_multi(@names.values)
            @subject.close
            true
          end

          private

          def store = @subject.store

          def name(key) = @names[key] ||= "tiercel-lab:#{@label}:#{key}"

          # What it raises is raised by {Thread#value}.
          def quiet_thread
            Thread.new do
              Thread.current.report_on_exception = false
              yield
            end
          end

          def call(name, caller, at, block_ms, options, blocks)
            sleep(at - now) while now < at
            started = now
            given = store.fetch(name.dup, expires_in: KEPT_SECONDS, **options) do
              from = now
              sleep(block_ms / 1e3)
              blocks << [caller, ms(from - at), ms(now - at)]
              value(caller)
            end
            [ms(started - at), ms(now - started), maker(given)]
          end

          def value(maker) = "#{maker}:".ljust(VALUE_BYTES, "x")

          def maker(found)
            maker = found.to_s[/\A[^:]*/]
            raise WrongValue, "something else came back than was written" unless found == value(maker)
            maker
          end

          def ms(seconds) = (seconds * 1e3).round(3)

          def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        end
      end
    end
  end
end
