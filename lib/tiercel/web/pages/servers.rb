# frozen_string_literal: true

require_relative "../../doctor"
require_relative "../page"

module Tiercel
  class Web
    module Pages
      # The servers with their versions and limits, and the segments with their processes.
      #
      # @private
      class Servers < Page
        page "Servers", "servers"
        OF_REDIS = { "redis_version" => "Version", "uptime_in_seconds" => "Up for", "used_memory" => "Memory in use",
                     "maxmemory" => "Memory limit", "maxmemory_policy" => "Policy", "connected_clients" => "Clients",
                     "instantaneous_ops_per_sec" => "Calls per second", "evicted_keys" => "Evicted keys",
                     "expired_keys" => "Expired keys", "role" => "Role" }.freeze
        OF_MEMCACHED = { "version" => "Version", "uptime" => "Up for", "bytes" => "Memory in use",
                         "limit_maxbytes" => "Memory limit", "curr_connections" => "Clients",
                         "curr_items" => "Entries", "evictions" => "Evictions",
                         "store_too_large" => "Refused because of their size" }.freeze
        MEMORY, SECONDS = /memory\z|bytes\z/, /\Auptime/
        private_constant :OF_REDIS, :OF_MEMCACHED, :MEMORY, :SECONDS
        Place = Struct.new(:name, :facts, :processes)

        private

        def places
          @places ||= tiercel? ? store.backend.tiers.flat_map { |tier| of_tier(tier) } : []
        end

        def of_tier(tier)
          return [of_segment(tier)] if tier.respond_to?(:segment)
          return of_memcached(tier) if tier.respond_to?(:server_stats)
          return [of_redis(tier)] if tier.respond_to?(:ask)
          [Place.new(tier.to_s, of_stats(tier), nil)]
        rescue BackendError => error
          [Place.new(tier.to_s, { "Answers" => text("no: #{error.message.lines.first}") }, nil)]
        end

        def of_segment(tier)
          segment = tier.segment
          facts = { "Size" => bytes(segment.size_bytes), "Shards" => number(segment.shards),
                    "Largest value" => bytes(segment.largest_value_bytes) }
          Place.new(tier.to_s, facts, (segment.pids if segment.path))
        end

        def of_redis(tier)
          doctor = Doctor::RedisServer.new(tier.to_s, tier.database) { |*command| tier.ask(*command) }
          Place.new(tier.to_s, facts(doctor.info, OF_REDIS), nil)
        end

        def of_memcached(tier)
          tier.server_stats.map { |name, stats| Place.new("memcached #{name}", facts(stats || {}, OF_MEMCACHED), nil) }
        end

        def of_stats(tier)
          stats = tier.stats
          { "Entries" => stats[:entries] && number(stats[:entries]),
            "On disk" => (stats[:disk_bytes] || stats[:bytes])&.then { |size| bytes(size) } }.compact
        end

        def facts(told, names)
          names.filter_map { |name, label| [label, shown(name, told[name])] if told[name] }.to_h
        end

        def shown(name, value)
          return text(value) unless value.match?(/\A\d+\z/)
          return value == "0" ? "none" : bytes(value.to_i) if name.match?(MEMORY)
          name.match?(SECONDS) ? seconds(value.to_i) : number(value.to_i)
        end

        # The kernel's short name of a process; its arguments may contain passwords.
        def command_of(pid)
          text(::File.read("/proc/#{pid}/comm").chomp)
        rescue SystemCallError
          "–"
        end

        def software
          { "Ruby" => RUBY_VERSION, "Tiercel" => VERSION, "ActiveSupport" => ActiveSupport.version.to_s,
            "Segment in C" => defined?(Segment) ? "yes" : "not loaded", "Compressor" => Compressors.default.to_s,
            "Processors" => Etc.nprocessors.to_s }
        end
      end
    end
  end
end
