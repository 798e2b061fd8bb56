# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    module Latency
      # The process that runs the article's loop on several stores.
      class Client < Load::Client
        # Builds a store and stores one value in it.
        #
        # @param value [String, nil] name of a value; nil: the article's
        def open(id:, text:, value:, seed:, context:)
          Engine::Outcome.of do
            build(text, context, id:)
            (@values ||= {})[id] = value ? Values.fetch(value).generate(seed).first : figures_and_letters(seed)
            name = subject(id).names.push("tiercel-lab:#{context[:label]}").last
            subject(id).contestant.filling(store(id), 1) do
              raise WrongValue, "the write of a value was refused" unless store(id).write(name.dup, @values[id])
            end
            check(id)
          end
        end

        # @return [Hash] "real", "user" and "system", seconds
        def iterate(id:, count:)
          Engine::Outcome.of do
            GC.start
            before, started = Process.times, Load.now
            run(id, count)
            real, after = Load.now - started, Process.times
            { real:, user: after.utime - before.utime, system: after.stime - before.stime }
          end
        end

        def verify(id:)
          Engine::Outcome.of { check(id) }
        end

        # @return [Float] median of the round trips in seconds; see {Network::RoundTrip}
        def round_trip(host:, port:, request:, samples:) = Network::RoundTrip.measure(host, port, request:, samples:)

        private

        # The loop of the article.
        def run(id, count)
          name, store = subject(id).names.first, store(id)
          missed = 0
          count.times do
            next missed += 1 unless store.exist?(name)
            store.fetch(name) { missed += 1 }
          end
          raise Missed, "#{missed} of #{count} requests found nothing" if missed.positive?
        end

        def check(id)
          found = store(id).read(subject(id).names.first)
          raise Missed, "a read of a written name found nothing" if found.nil?
          raise WrongValue, "a read returned another value than the written one" unless found == @values[id]
        end

        # The article's script joins an Array of characters.
        def figures_and_letters(seed)
          random = Random.new(seed)
          [Array.new(1_001) { random.rand(36).to_s(36) }.join]
        end
      end
    end
  end
end
