# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Lab
    module CLI
      # A Ruby file of the user's (`--require`).
      module UserFile
        module_function

        # @param file [String]
        # @return [String] its full path
        # @raise [UsageError] if the file does not exist, raises, or ends the program
        def load(file)
          path = File.expand_path(file)
          raise UsageError, "--require #{file}: the file does not exist" unless File.file?(path)
          path.tap { run(file, path) }
        end

        def run(file, path)
          aside { require path }
        rescue SystemExit => e
          raise UsageError, "--require #{file}: the file ends the program (exit #{e.status})#{place(e, path)}"
        rescue StandardError, ScriptError => e
          raise UsageError, "--require #{file}: #{e.message.lines.first.to_s.strip} (#{e.class})#{place(e, path)}"
        end

        # Sends to stderr what the file prints, because the output may be JSON (`--json -`).
        def aside
          kept = STDOUT.dup
          STDOUT.reopen(STDERR)
          yield
        ensure
          STDOUT.reopen(kept)
          kept.close
        end

        # @return [String, nil] the line of the file
        def place(error, path)
          line = error.backtrace.to_a.find { |text| text.start_with?("#{path}:") } or return
          " in line #{line.delete_prefix("#{path}:").to_i}"
        end
        private_class_method :run, :aside, :place
      end
    end
  end
end
