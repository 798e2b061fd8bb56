# frozen_string_literal: true

require_relative "../../engine/subject"

module Tiercel
  module Lab
    module Tables
      module Sqlite
        # One of two processes that use a store at the same time, in a {Engine::Job}.
        class Client
          # Calls before anything is timed; YJIT compiles at the 30th.
          WARM_UP = 64

          # @param value [String] name of one of {Values}
          # @param context [Hash] see {Engine::Context#initialize}
          # @return [Hash{String => Object}] an {Engine::Outcome}, as of all its methods
          def open(text:, value:, seed:, prefix:, context:)
            Engine::Outcome.of do
              @subject = Engine::Subject.new(text:, values: Values.fetch(value).generate(seed), prefix:, context:)
            end
          end

          # Writes every value and warms up; the store of the other process has to be there by then.
          def fill
            Engine::Outcome.of do
              @subject.fill
              @subject.verify
              WARM_UP.times { |index| [write(index), read(index)] }
            end
          end

          # @param at [Float] monotonic seconds, the same clock for both processes
          # @param seconds [Float]
          # @return [Hash{String => Object}] with calls, seconds, and ns of each call
          def work(operation:, at:, seconds:)
            Engine::Outcome.of do
              GC.start
              sleep([at - now - 0.001, 0].max)
              nil until now >= at
              ns, failures = operation == "write" ? writes(at + seconds) : reads(at + seconds)
              if failures.positive?
                raise WrongValue, "#{failures} of #{ns.size} writes were refused" if operation == "write"
                raise Missed, "#{failures} of #{ns.size} reads found nothing"
              end
              { calls: ns.size, seconds: now - at, ns: }
            end
          end

          def verify = Engine::Outcome.of { @subject.verify }

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
end
