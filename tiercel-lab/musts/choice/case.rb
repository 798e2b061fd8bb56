# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Choice
        # An application: its values, and the options that state its constraints. No rule of the answer was derived from
        # these values, and none of them is a value of the lab.
        Case = Data.define(:values, :options)

        class Case
          # Options of two applications for each kind of values.
          ALL = { "json-5kb" => ["--workers 4 --survives restart", "--machines 2 --workers 2"],
                  "html-40kb" => ["--workers 1", "--workers 2 --survives reboot"],
                  "short-strings" => ["--workers 8 --memory 16MB", "--workers 1 --survives restart"],
                  "pictures-60kb" => ["--machines 3 --survives reboot", "--workers 2 --memory 64MB"],
                  "mixed" => ["--workers 3 --memory 32MB --survives reboot",
                              "--machines 2 --workers 4 --memory 128MB"] }
                .flat_map { |values, all| all.map { |options| new(values, options.split) } }.freeze

          # Stores whose entries belong to one process, and those whose entries end with the machine's power or are
          # beyond it. The lists do not use the answer's own rules.
          OF_A_PROCESS = ["memory_store", "tiercel:memory:"].freeze
          IN_MEMORY = [*OF_A_PROCESS, "tiercel:shared:", "file_store:tmpfs"].freeze
          ON_SERVERS = ["mem_cache_store", "redis_cache_store", "tiercel:memcached:", "tiercel:redis:",
                        "tiercel:shared: redis:"].freeze
          # Stores with memory of their own on the application's machine.
          SIZED = [*IN_MEMORY, "tiercel:shared: sqlite:", "tiercel:shared: redis:"].freeze
          SIZE = /size(?:=|: "?)(\d+)(?:\.mega|MB)/

          # @return [String]
          def words = "#{values}, #{options.join(" ")}"

          # @param store [String] text of a contestant
          # @param line [String, nil] its line for the application's configuration
          # @return [String, nil] the option whose constraint the store breaks
          def broken_by(store, line)
            return "--machines" if machines > 1 && !ON_SERVERS.include?(store)
            return "--workers" if workers > 1 && OF_A_PROCESS.include?(store)
            return "--survives" if lost(survives).include?(store)
            "--memory" if memory && SIZED.include?(store) && !line.to_s[SIZE, 1]&.to_i&.between?(1, memory.to_i)
          end

          private

          def option(name) = options.include?(name) ? options[options.index(name) + 1] : nil
          def machines = option("--machines").to_i
          def workers = option("--workers").to_i
          def survives = option("--survives")
          def memory = option("--memory")

          # A server beside the application restarts with the machine.
          def lost(event)
            return OF_A_PROCESS if event == "restart"
            event == "reboot" ? [*IN_MEMORY, *(ON_SERVERS if machines < 2)] : []
          end
        end
      end
    end
  end
end
