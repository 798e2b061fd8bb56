# frozen_string_literal: true

require "open3"
require "rbconfig"

module Tiercel
  module Lab
    module Tables
      module Boot
        # Boots each store of a {Design} in fresh processes. Each round boots all stores, in another order. Rows have
        # "store", "round", "cpu_ms", "bytes" and "files".
        class Trial < Engine::Trial
          PROCESS = File.expand_path("process.rb", __dir__)

          private

          def measure
            @design.rounds.times do |round|
              in_turn(@design.stores, round).each do |store|
                outcome = Engine::Outcome.of { boot(Design::STORES.fetch(store)) }
                rows << { "store" => store, "round" => round, **outcome }
                @progress.advance(Design::PROCESS_SECONDS, store)
              end
            end
          end

          def boot(store)
            places = places(store)
            configuration = store.configuration.gsub(/%\{(\w+)\}/) { places.fetch(Regexp.last_match(1)) }
            out, status = Open3.capture2e(Engine::Bundle.new(nil).environment, *command(configuration))
            raise CannotRun, out.lines.first.to_s.strip unless status.success?
            seconds, bytes, files = out.lines.last.split
            { cpu_ms: (Float(seconds) * 1e3).round(3), bytes: Integer(bytes), files: Integer(files) }
          end

          def places(store)
            servers = @pool.facts(store.servers)
            failed = servers.values.find { |facts| facts["error"] } and raise CannotRun, failed["error"]
            { "tmpfs" => @scratch.folders["disk"], **@scratch.folders,
              "memcached" => servers.dig("memcached", "address"), "redis" => servers.dig("redis", "url") }
          end

          def command(configuration)
            [*@pinning.worker_prefix, RbConfig.ruby, *("--yjit" if defined?(RubyVM::YJIT)), "-W0", PROCESS,
             configuration]
          end
        end
      end
    end
  end
end
