# frozen_string_literal: true

require "socket"
require_relative "../../engine"
require_relative "../../servers"

module Tiercel
  module Lab
    module Tables
      module Capabilities
        # Whether a store spreads its keys over two servers: two are started, the store is given both, and both are
        # asked. Of a store with tiers the last one is, behind the others.
        class Cluster
          KEYS = 60
          FORMS = { memcached: { "mem_cache_store" => "mem_cache_store:%s,%s",
                                 "tiercel:memcached:" => "tiercel:memcached://%s,%s" },
                    redis: { "redis_cache_store" => nil, "tiercel:redis:" => nil } }.freeze

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
            form = FORMS.dig(:memcached, @text)
            return spread(behind(form)) if form
            return of_redis if FORMS[:redis].key?(@text)
            if @text.start_with?("solid_cache")
              return said("partly", "by shards over several databases, set up in the application: not probed")
            end
            said("no")
          end

          private

          def behind(form) = form.sub("tiercel:") { "tiercel:#{@near}" }

          def said(mark, note = nil) = { "mark" => mark, "note" => note }

          def spread(form)
            servers = Array.new(2) { Servers::Memcached.new.start }
            counts = fill(format(form, *servers.map(&:address)), servers)
            if counts.all?(&:positive?)
              said("yes")
            else
              said("no", "of #{KEYS} keys #{counts.join(" and ")} were on two servers")
            end
          rescue Error, Servers::Error => e
            said("no", "not probed: #{e.message.lines.first.strip}")
          ensure
            servers&.each(&:stop)
          end

          def fill(text, servers)
            job = Engine::Job.new("tables/capabilities/probe", requires: @requires).start
            reason = job.call("open", text:, servers: {}, folders: @folders, label: "cluster")["reason"]
            raise Error, reason if reason
            job.call("spread", count: KEYS)
            servers.map { |server| items(*server.address.split(":")) }
          ensure
            job&.stop
          end

          def items(host, port)
            Socket.tcp(host, Integer(port)) do |io|
              io.write("stats\r\n")
              io.each_line.take_while { |line| !line.start_with?("END") }.join[/^STAT curr_items (\d+)/, 1].to_i
            end
          end

          # A cluster of Redis is a server of its own kind, to which only Tiercel has a scheme.
          def of_redis
            unless @text.start_with?("tiercel")
              return said("partly", "by a client that the application builds (`redis:`): not probed")
            end
            facts = @pool.facts([:redis_cluster])
            job = Engine::Job.new("tables/capabilities/probe", requires: @requires).start
            reason = job.call("open", text: behind("tiercel:redis+cluster:"), servers: facts, folders: @folders,
                              label: "cluster")["reason"]
            return said("no", "not probed: #{reason}") if reason
            job.call("spread", count: KEYS)
            job.call("read", name: "spread-#{KEYS - 1}") == "value" ? said("yes", "as `redis+cluster:`") : said("no")
          ensure
            job&.stop
          end
        end
      end
    end
  end
end
