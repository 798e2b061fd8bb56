# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Lab
    module Simulator
      # Replays a trace on a policy or a backend as an application uses a cache: it reads, and writes after a miss.
      class Replay
        # The results of a replay.
        #
        # @!attribute reads [Integer]
        # @!attribute hits [Integer]
        # @!attribute writes [Integer] the trace's writes; writes after misses do not count
        # @!attribute deletes [Integer]
        # @!attribute refused [Integer] writes that the target refused or cannot store
        # @!attribute wrong [Integer] reads of a backend that returned other bytes than the last write
        # @!attribute evictions [Integer, nil]
        Result = Struct.new(:reads, :hits, :writes, :deletes, :refused, :wrong, :evictions) do
          # @return [Float, nil] hits per read; nil without reads
          def hit_ratio = reads.zero? ? nil : hits.fdiv(reads)

          # @return [Integer]
          def misses = reads - hits
        end

        # Requests between two readings of the clock.
        STRIDE = 256

        # @param trace [Trace, Array<Request>]
        # @param target [Policy, Tiercel::Backend] an empty one
        # @param warm_up [Integer] number of first requests that do not count
        # @param within [Numeric, nil] time limit in seconds
        # @return [Result]
        # @raise [CannotRun] if it takes longer
        def self.run(trace, target, warm_up: 0, within: nil) = new(trace, target, warm_up:, within:).run

        # @param trace [Trace, Array<Request>]
        # @param target [Policy, Tiercel::Backend]
        # @param warm_up [Integer]
        # @param within [Numeric, nil]
        def initialize(trace, target, warm_up: 0, within: nil)
          @trace = trace.is_a?(Trace) ? trace : Trace.new(trace)
          @target = target.is_a?(Backend) ? BackendTarget.new(target) : target
          @warm_up = warm_up
          @within = within
        end

        # @return [Result]
        def run
          @target.prepare(@trace)
          @target.respond_to?(:around) ? @target.around(@trace) { replay } : replay
          @result.wrong = @target.wrong if @target.respond_to?(:wrong)
          @result.evictions = @target.evictions
          @result
        end

        private

        def replay
          @result = Result.new(0, 0, 0, 0, 0, 0, nil)
          seconds = @trace.seconds_per_request
          deadline = @within && (Clock.monotonic + @within)
          @trace.requests.each_with_index do |request, index|
            @result = Result.new(0, 0, 0, 0, 0, 0, nil) if index == @warm_up
            check(deadline, index) if deadline && (index % STRIDE).zero?
            @target.advance(index, index * seconds)
            perform(request)
          end
        end

        def check(deadline, index)
          return if Clock.monotonic <= deadline
          raise CannotRun, "over #{@within} s for #{index} of #{@trace.size} requests: ask for fewer"
        end

        def perform(request)
          case request.op
          when :read then read(request)
          when :write
            @result.writes += 1
            store(request)
          when :delete
            @result.deletes += 1
            @target.delete(request.key)
          else
            raise ArgumentError, "request op #{request.op.inspect}: expected :read, :write or :delete"
          end
        end

        def read(request)
          @result.reads += 1
          if @target.get(request.key)
            @result.hits += 1
          else
            store(request)
          end
        end

        def store(request)
          @result.refused += 1 unless @target.set(request.key, request.bytes, request.ttl)
        end
      end
    end
  end
end
