# frozen_string_literal: true

require_relative "../runner/subject"

module Tiercel
  module Lab
    module Sqlite
      # One of two processes that use a store at the same time.
      class Client
        # Calls before anything is timed; YJIT compiles at the 30th.
        WARM_UP = 64

        # @param text [String] of the contestant
        # @param value [String] name of a value
        # @param seed [Integer]
        # @param prefix [String] of this process's own names
        # @param context [Hash] see {Runner::Context#initialize}
        # @return [Hash] see {Runner::Subject.outcome}
        def open(text:, value:, seed:, prefix:, context:)
          Runner::Subject.outcome do
            objects = Values.fetch(value).generate(seed)
            places = context.slice(:servers, :folders).transform_values do |named|
              named.to_h { |name, place| [name.to_s, place.is_a?(Hash) ? place.transform_keys(&:to_s) : place] }
            end
            @subject = Runner::Subject.new(text:, values: objects, prefix:, context: { **context, **places })
            {}
          end
        end

        # Writes every value and warms up; the store of the other process has to be there by then.
        #
        # @return [Hash] see {Runner::Subject.outcome}
        def fill
          Runner::Subject.outcome do
            @subject.fill
            @subject.verify
            WARM_UP.times { |index| [write(index), read(index)] }
            {}
          end
        end

        # @param operation [String] "write" or "read"
        # @param at [Float] when to begin, by the machine's monotonic clock
        # @param seconds [Float]
        # @return [Hash] "calls", "seconds" and "ns" of each call; misses and refusals are outcomes of their own
        def work(operation:, at:, seconds:)
          Runner::Subject.outcome do
            GC.start
            sleep([at - now - 0.001, 0].max)
            nil until now >= at
            calls_ns, failures = operation == "write" ? writes(at + seconds) : reads(at + seconds)
            if failures.positive? && operation == "read"
              raise Missed, "#{failures} of #{calls_ns.size} reads found nothing"
            end
            raise WrongValue, "#{failures} of #{calls_ns.size} writes were refused" if failures.positive?
            { calls: calls_ns.size, seconds: now - at, ns: calls_ns }
          end
        end

        # @return [Hash] see {Runner::Subject.outcome}
        def verify
          Runner::Subject.outcome do
            @subject.verify
            {}
          end
        end

        private

        def write(index)
          @subject.store.write(@subject.names[index % @subject.names.size],
                               @subject.values[index % @subject.values.size])
        end

        def read(index) = @subject.store.read(@subject.names[index % @subject.names.size])

        # Two loops, so that each call site sees one method.
        def writes(until_at)
          store, names, values = @subject.store, @subject.names, @subject.values
          taken, refused, index = [], 0, 0
          started = now
          while started < until_at
            refused += 1 unless store.write(names[index], values[index])
            ended = now
            taken << ((ended - started) * 1e9).round
            started = ended
            index = (index + 1) % names.size
          end
          [taken, refused]
        end

        def reads(until_at)
          store, names = @subject.store, @subject.names
          taken, missed, index = [], 0, 0
          started = now
          while started < until_at
            missed += 1 if store.read(names[index]).nil?
            ended = now
            taken << ((ended - started) * 1e9).round
            started = ended
            index = (index + 1) % names.size
          end
          [taken, missed]
        end

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
