# frozen_string_literal: true

require_relative "../../engine/subject"
require_relative "../../network/round_trip"
require_relative "../../values/text"

module Tiercel
  module Lab
    module Tables
      module Tiers
        # One process that reads: some names which are near, and others that nobody here has read before.
        class Mix
          VALUE_BYTES = 1_024
          # Which are near.
          NEAR_NAMES = 200
          BATCH = 500

          # @param text [String] of the contestant; its copies do not end
          # @param label [String] of its names
          # @param far [String] of the contestant that is the last tier alone
          # @param names [Integer] that can be read once
          # @param context [Hash] see {Engine::Context#initialize}
          # @param place [Array(String, Integer, String), nil] host, port and a question, to measure the round trip
          # @return [Hash] see {Engine::Outcome.of}; "round_trip_ms"
          def open(text:, label:, far:, names:, seed:, context:, place: nil)
            @label = label
            @random = Random.new(seed)
            @values = Values::Text.new(name: "mix", title: "", bytes: VALUE_BYTES, count: 16).generate(seed)
            Engine::Outcome.of do
              @subject, @far = [text, far].each_with_index.map do |store, index|
                Engine::Subject.new(text: store, values: [], prefix: label,
                                    context: { **context, label: "#{label}-#{index}" })
              end
              fill(names)
              { round_trip_ms: place && round_trip_ms(*place) }.compact
            end
          end

          # @param calls [Integer]
          # @param near [Integer] of them
          # @return [Hash] "us": a call, on average
          def run(calls:, near:)
            Engine::Outcome.of do
              numbers = Array.new(near) { @random.rand(NEAR_NAMES) } + Array.new(calls - near) { @unread += 1 }
              { us: timed(@subject.store, numbers.shuffle(random: @random)) }
            end
          end

          # The last tier with nothing in front.
          #
          # @return [Hash] as {#run}
          def alone(calls:)
            Engine::Outcome.of { { us: timed(@far.store, Array.new(calls) { @random.rand(NEAR_NAMES) }) } }
          end

          # @return [true]
          def close
            @far&.store&.delete_multi(@names.to_a)
            [@subject, @far].compact.each(&:close)
            true
          end

          private

          def fill(names)
            @names = Array.new(NEAR_NAMES + names) { |index| name(index) }
            @names.each_slice(BATCH).with_index do |slice, batch|
              @far.store.write_multi(slice.each_with_index.to_h { |name, at| [name, value((batch * BATCH) + at)] })
            end
            @unread = NEAR_NAMES - 1
            near = @names.first(NEAR_NAMES)
            near.each_with_index { |name, number| check(number, @subject.store.read(name)) }
            return if Contestants::NearCopies.fill(@subject.store, near)
            raise CannotRun, "what was read does not stay near, so shares of near hits cannot be made"
          end

          def name(number) = format("tiercel-lab:%s:%06d", @label, number)

          def value(number) = @values[number % @values.size]

          # Names are made before, values are looked at afterwards.
          def timed(store, numbers)
            names = numbers.map { |number| name(number) }
            found = Array.new(names.size)
            start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
            names.each_with_index { |name, index| found[index] = store.read(name) }
            seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
            numbers.each_with_index { |number, index| check(number, found[index]) }
            seconds / numbers.size * 1e6
          end

          def check(number, found)
            raise Missed, "nothing came back for what had been written" if found.nil?
            raise WrongValue, "something else came back than was written" unless found == value(number)
          end

          def round_trip_ms(host, port, request)
            (Network::RoundTrip.measure(host, port, request:, samples: 20) * 1e3).round(3)
          end
        end
      end
    end
  end
end
