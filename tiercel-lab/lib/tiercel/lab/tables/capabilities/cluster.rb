# frozen_string_literal: true

require_relative "../../servers"

module Tiercel
  module Lab
    module Tables
      module Capabilities
        # Tests whether a store spreads its keys over two servers: starts two servers, configures the store with both,
        # and counts the entries on each. In a stack of tiers this is the last tier.
        class Cluster
          KEYS = 60
          MEMCACHED = { "mem_cache_store" => "mem_cache_store:%s,%s",
                        "tiercel:memcached:" => "tiercel:memcached://%s,%s" }.freeze

          # @param contestant [Contestant]
          # @param pool [Engine::ServerPool]
          # @param folders [Hash{String => String}] the run's own, by medium
          # @param requires [Array<String>]
          def initialize(contestant, pool:, folders:, requires:)
            @text = contestant.text
            *near, last = @text.delete_prefix("tiercel:").split if @text.start_with?("tiercel:")
            @near = near&.map { |tier| "#{tier} " }&.join
            @text = "tiercel:#{last}" if last
            @pool = pool
            @folders = folders
            @requires = requires
          end

          # @return [Hash{String => String, nil}] "mark" and "note"
          def mark
            if @text.start_with?("solid_cache")
              said("partly", "by shards over several databases, set up in the application: not probed")
            elsif @text == "redis_cache_store"
              said("partly", "by a client that the application builds (`redis:`): not probed")
            elsif @text == "tiercel:redis:" then on_redis
            elsif MEMCACHED.key?(@text) then on_memcached
            else said("no")
            end
          end

          private

          def said(mark, note = nil) = { "mark" => mark, "note" => note }

          def on_memcached
            servers = Array.new(2) { Servers::Memcached.new.start }
            counts = spread(format(MEMCACHED[@text], *servers.map(&:address))) do
              servers.map { |server| ServerFigures.items("memcached://#{server.address}").to_i }
            end
            return said("yes") if counts.all?(&:positive?)
            said("no", "of #{KEYS} keys #{counts.join(" and ")} were on two servers")
          rescue Error, Servers::Error => e
            said("no", "not probed: #{e.message.lines.first.strip}")
          ensure
            servers&.each(&:stop)
          end

          # A Redis cluster has a URL scheme of its own, which only Tiercel knows.
          def on_redis
            last = spread("tiercel:redis+cluster:", @pool.facts([:redis_cluster])) do |job|
              job.call("read", name: "spread-#{KEYS - 1}")
            end
            last == "value" ? said("yes", "as `redis+cluster:`") : said("no")
          rescue Error => e
            said("no", "not probed: #{e.message}")
          end

          # @param text [String] text of the store, without its nearer tiers
          # @yieldparam job [Engine::Job] the job whose store has written all keys
          def spread(text, servers = {})
            job = Engine::Job.new("tables/capabilities/probe", requires: @requires).start
            text = text.sub("tiercel:") { "tiercel:#{@near}" }
            reason = job.call("open", text:, servers:, folders: @folders, label: "cluster")["reason"]
            raise Error, reason if reason
            job.call("spread", count: KEYS)
            yield job
          ensure
            job&.stop
          end
        end
      end
    end
  end
end
