# frozen_string_literal: true

require_relative "../check"
require_relative "../redis_server"
require_relative "../../sizes"

module Tiercel
  class Doctor
    module Checks
      # Is Redis configured as a cache: a memory limit, an eviction policy that can evict, no other users?
      class Redis < Check
        private

        def examine
          server = RedisServer.of(subject) or return
          info = server.info
          return unknown("#{server}: INFO is refused, so memory limit and eviction policy are unknown") if info.empty?
          limit(server, info)
          other_databases(server, info)
          sample(server, info)
        end

        def limit(server, info)
          limit, policy = info["maxmemory"].to_i, info["maxmemory_policy"]
          return unknown("#{server}: INFO does not contain the memory limit") unless info.key?("maxmemory")
          if limit.zero?
            found("#{server} has no memory limit: the cache grows until the machine is out of memory",
                  fix: "CONFIG SET maxmemory 1gb (and in redis.conf), with maxmemory-policy allkeys-lru")
          elsif policy == "noeviction"
            found("#{server} refuses writes once its #{Sizes.human(limit)} are full (maxmemory-policy noeviction)",
                  fix: "CONFIG SET maxmemory-policy allkeys-lru, unless this Redis also stores other data")
          else
            sound("#{server} has a limit of #{Sizes.human(limit)} and evicts (#{policy})")
          end
        end

        def other_databases(server, info)
          others = info.keys.grep(/\Adb\d+\z/) - ["db#{server.database}"]
          return if others.empty?
          found("#{server}: #{others.join(", ")} have keys too; the memory limit and the eviction policy apply to all",
                fix: "use a separate Redis for the cache: eviction would drop keys of the others")
        end

        def sample(server, info)
          keys = server.sample
          return unknown("#{server}: SCAN is refused, so its keys could not be sampled") if keys.nil?
          foreign = keys.reject { |_key, type, _ttl| type == "string" }
          used_for_more(server, foreign) if foreign.any?
          endless = keys.count { |_key, _type, ttl| ttl == -1 }
          volatile = info["maxmemory_policy"].to_s.start_with?("volatile")
          without_ttl(server, endless, keys.size) if volatile && endless.positive?
        end

        def used_for_more(server, foreign)
          types = foreign.map { |_key, type, _ttl| type }.tally.map { |type, count| "#{count} of type #{type}" }
          found("#{server} is not used only for caching: a sample has #{types.join(", ")}",
                fix: "use a separate Redis for the cache: `clear` without a namespace flushes the whole database, " \
                     "and eviction may drop jobs")
        end

        def without_ttl(server, endless, sampled)
          found("#{server}: #{endless} of #{sampled} sampled keys have no TTL, and maxmemory-policy volatile-* never " \
                "evicts those", fix: "CONFIG SET maxmemory-policy allkeys-lru, or write with expires_in:")
        end
      end
    end
  end
end
