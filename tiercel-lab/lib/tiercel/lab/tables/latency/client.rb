# frozen_string_literal: true

require_relative "../../engine/subject"
require_relative "../../network/round_trip"
require_relative "open_loop"

module Tiercel
  module Lab
    module Tables
      module Latency
        # The application's side, in a process of its own: stores, each with one
        # value under one name, and the loop of the second article over them.
        class Client
          # Before anything is timed; YJIT compiles at the 30th call.
          WARM_UP = 40
          # Iterations whose time tells how many fit.
          PROBES = 5
          # Far away even a warm-up takes long.
          PATIENCE_SECONDS = 0.3
          # Long enough for the rate that a closed loop reaches.
          CAPACITY_SECONDS = 0.5

          def initialize
            @subjects = {}
          end

          # @param id [String] of the store and its place
          # @param text [String] of the contestant
          # @param value [String, nil] name of a value; nil: the article's
          # @param seed [Integer]
          # @param context [Hash] see {Engine::Context#initialize}
          # @return [Hash] see {Engine::Outcome.of}
          def open(id:, text:, value:, seed:, context:)
            Engine::Outcome.of do
              objects = [value ? Values.fetch(value).generate(seed).first : Client.article_value(seed)]
              subject = Engine::Subject.new(text:, values: objects, prefix: id, context:)
              subject.fill
              subject.verify
              @subjects[id] = subject
              { bytes: Marshal.dump(objects.first).bytesize }
            end
          end

          # 1,001 random figures and letters: what the article's script makes (its Array joins to one String).
          #
          # @param seed [Integer]
          # @return [Array<String>]
          def self.article_value(seed)
            random = Random.new(seed)
            [Array.new(1_001) { random.rand(36).to_s(36) }.join]
          end

          # How long an iteration takes, and warms up. Not a measurement.
          #
          # @param id [String]
          # @return [Hash] "seconds" for an iteration
          def probe(id:)
            Engine::Outcome.of do
              deadline = now + PATIENCE_SECONDS
              WARM_UP.times { break if now > deadline; iterate(id, 1) }
              started = now
              iterate(id, PROBES)
              { seconds: (now - started) / PROBES }
            end
          end

          # The article's loop.
          #
          # @param id [String]
          # @param iterations [Integer]
          # @return [Hash] "real", "user", "system" in seconds for all iterations
          def run(id:, iterations:)
            Engine::Outcome.of do
              GC.start
              before = Process.times
              started = now
              misses = iterate(id, iterations)
              real = now - started
              after = Process.times
              raise Missed, "#{misses} of #{iterations} iterations found nothing" if misses.positive?
              { iterations:, real:, user: after.utime - before.utime, system: after.stime - before.stime }
            end
          end

          # @param id [String]
          # @return [Hash] "rate": fetches a second of a closed loop
          def capacity(id:)
            Engine::Outcome.of do
              subject = @subjects.fetch(id)
              store, name = subject.store, subject.names.first
              requests = 0
              started = now
              until (elapsed = now - started) > CAPACITY_SECONDS
                store.fetch(name) { raise Missed, "a fetch found nothing" }
                requests += 1
              end
              { rate: requests / elapsed }
            end
          end

          # Requests that come when they come, whether the one before has been answered or not.
          #
          # @param id [String]
          # @param options [Hash] see {OpenLoop#initialize}
          # @return [Hash] see {OpenLoop#run}
          def open_loop(id:, **options)
            Engine::Outcome.of do
              subject = @subjects.fetch(id)
              store, name = subject.store, subject.names.first
              misses = 0
              result = OpenLoop.new(**options).run { store.fetch(name) { misses += 1 } }
              raise Missed, "#{misses} requests found nothing" if misses.positive?
              result
            end
          end

          # @param host [String]
          # @param port [Integer]
          # @param request [String] see {Network::RoundTrip}
          # @param samples [Integer]
          # @return [Float] seconds, the median
          def round_trip(host:, port:, request:, samples:) = Network::RoundTrip.measure(host, port, request:, samples:)

          # Compares once more and lets go.
          #
          # @return [Hash{String => Hash}] outcomes by id
          def close
            @subjects.to_h do |id, subject|
              [id, Engine::Outcome.of do
                subject.verify
                {}
              ensure
                subject.close
              end]
            end
          end

          private

          def iterate(id, count)
            subject = @subjects.fetch(id)
            store, name = subject.store, subject.names.first
            misses = 0
            count.times do
              if store.exist?(name)
                store.fetch(name) { misses += 1 }
              else
                misses += 1
              end
            end
            misses
          end

          def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        end
      end
    end
  end
end
