# frozen_string_literal: true

require_relative "../../frame"
require_relative "../../leases"
require_relative "../../leases/placeholder"
require_relative "../fetch/flight"
require_relative "observation"

module Tiercel
  module Store
    module FastPath
      # A `fetch` in a run of cold keys ({Fetch::ColdRun}): the lease is asked for in the trip of the read, in case that
      # nothing is there. What is there is given as the read alone would give it, and ends the run.
      #
      # @private
      module AtOnce
        private

        # @param options [Hash, nil] as they were passed
        # @yield the block of `fetch`
        # @return [Object] the value
        def fetch_at_once(name, key, version, options, &)
          merged = merged_options(options)
          return read_alone(name, key, version, options, &) unless may_ask_at_once?(key, merged)
          key = key.dup.freeze unless key.frozen?
          flight = Fetch::Flight.new(key, version)
          return read_alone(name, key, version, options, &) unless @settings.flights.lead(flight, alone: true)
          policy = @settings.policy
          answer = @settings.leases.ask(key, policy.lease_ttl, version && Frame::Version.kept(version))
          if Leases::Lease === answer
            return compute_straight(flight, answer, name, merged, &) if answer.begun?
          elsif answer
            return found_at_once(flight, answer, name, version, options, &)
          end
          miss(name, key, version, merged, policy, fast: true, begun: [flight, answer], &)
        ensure
          give_up(flight, answer) unless flight.nil? || flight.landed?
        end

        # Where {Fetch::Straight} would go on, and nothing is remembered.
        def may_ask_at_once?(key, options)
          policy = @settings.policy
          policy.lease && !policy.timeout? && options[:tags].nil? && @fast_fills && fills_fast? &&
            !observed?(GENERATE) && !observed?(FETCH_HIT) &&
            @settings.request_local&.current&.read_entry(key).nil?
        end

        def read_alone(name, key, version, options, &)
          value = @settings.accessor.read(key, version)
          return no_plain_value(value, name, key, version, options, &) if Coder::Signal === value
          observed?(FETCH_HIT) ? tell_hit(value, name, options) : value
        end

        # Who has come along meanwhile looks for it, too.
        def found_at_once(flight, (bytes, token), name, version, options, &)
          @settings.cold_run.over
          @settings.flights.leave(flight)
          value = @settings.accessor.decode(bytes, version) { token }
          placeholder = Leases::Placeholder.placeholder?(bytes)
          @settings.request_local&.current&.write_entry(flight.key, bytes) unless placeholder
          Coder::Signal === value ? no_plain_value(value, name, flight.key, version, options, &) : value
        end
      end
    end
  end
end
