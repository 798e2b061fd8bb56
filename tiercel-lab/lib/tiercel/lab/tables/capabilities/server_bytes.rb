# frozen_string_literal: true

require "socket"

module Tiercel
  module Lab
    module Tables
      module Capabilities
        # How many bytes a server says that it holds. Its resident memory would not do: what was freed stays its own.
        module ServerBytes
          QUESTIONS = { "memcached" => ["stats\r\n", /^STAT bytes (\d+)/, "END"],
                        "redis" => ["INFO memory\r\n", /^used_memory:(\d+)/, "mem_allocator"] }.freeze
          SECONDS = 2

          module_function

          # @param url [String] memcached://HOST:PORT or redis://HOST:PORT/0
          # @return [Integer, nil] nil for other servers, and for one that does not answer
          def of(url)
            scheme, host, port = url.match(%r{\A(\w+)://([^:/]+):(\d+)})&.captures
            question, pattern, last = QUESTIONS[scheme]
            return unless question
            Socket.tcp(host, Integer(port), connect_timeout: SECONDS) do |io|
              io.write(question)
              io.each_line.find { |line| (bytes = line[pattern, 1]) ? (return Integer(bytes)) : line.start_with?(last) }
              nil
            end
          rescue SystemCallError
            nil
          end
        end
      end
    end
  end
end
