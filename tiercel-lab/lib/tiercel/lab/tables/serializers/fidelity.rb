# frozen_string_literal: true

require "json"
require "timeout"
require_relative "specimens"

module Tiercel
  module Lab
    module Serialization
      # Sends objects of every kind through one serializer and records the results. It runs in a process of its own,
      # because some libraries extend core classes and some crash.
      class Fidelity
        SECONDS = 20

        # @param library [Library]
        def initialize(library)
          @library = library
        end

        # @return [Hash{String => String}] "serializer", and the result for each specimen: "kept", "refused: ...", or
        #   the difference
        def to_h
          { "serializer" => @library.name }.merge(answers)
        end

        private

        # The process reports each specimen at once, so a crash leaves the earlier answers.
        def answers
          reader, writer = IO.pipe
          pid = fork { probe(reader, writer) }
          writer.close
          found = read(reader, pid)
          Process.wait(pid)
          Specimens.names.to_h { |name| [name, found.fetch(name, "ends the process")] }
        ensure
          reader&.close
        end

        def read(reader, pid)
          Timeout.timeout(SECONDS) { reader.each_line.to_h { |line| JSON.parse(line) } }
        rescue Timeout::Error
          Process.kill(:KILL, pid)
          {}
        end

        def probe(reader, writer)
          reader.close
          $stderr.reopen(File::NULL)
          Specimens.prepare
          codec = @library.build
          Specimens.all.each { |specimen| writer.puts(JSON.generate([specimen.name, specimen.fate(codec)])) }
        rescue StandardError => e
          Specimens.names.each { |name| writer.puts(JSON.generate([name, "not installed: #{e.message}"])) }
        ensure
          writer.close
          exit!(0)
        end
      end
    end
  end
end
