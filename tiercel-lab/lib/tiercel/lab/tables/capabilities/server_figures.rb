# frozen_string_literal: true

require "socket"

module Tiercel
  module Lab
    module Tables
      module Capabilities
        # Figures that a server reports. Its resident memory would be wrong, because a server keeps the memory of
        # deleted entries.
        module ServerFigures
          BYTES = { "memcached" => ["stats\r\n", /^STAT bytes (\d+)/, "END"],
                    "redis" => ["INFO memory\r\n", /^used_memory:(\d+)/, "mem_allocator"] }.freeze
          ITEMS = { "memcached" => ["stats\r\n", /^STAT curr_items (\d+)/, "END"] }.freeze
          SECONDS = 2

          module_function

          # @param url [String] memcached://HOST:PORT or redis://HOST:PORT/0
          # @return [Integer, nil] bytes that the server holds; nil for other servers, and for one that does not answer
          def bytes(url) = ask(url, BYTES)

          # @param url [String] memcached://HOST:PORT
          # @return [Integer, nil] entries that the server holds
          def items(url) = ask(url, ITEMS)

          def ask(url, questions)
            scheme, host, port = url.match(%r{\A(\w+)://([^:/]+):(\d+)})&.captures
            question, pattern, last = questions[scheme]
            return unless question
            Socket.tcp(host, Integer(port), connect_timeout: SECONDS) do |io|
              io.write(question)
              io.each_line.find { |line| (found = line[pattern, 1]) ? (return Integer(found)) : line.start_with?(last) }
              nil
            end
          rescue SystemCallError
            nil
          end
          private_class_method :ask
        end
      end
    end
  end
end
