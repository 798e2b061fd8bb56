# frozen_string_literal: true

require "timeout"

# Runs a script with Ractors in a process of its own, because a process that has started a Ractor behaves differently
# from then on. Ends the process and its children if they do not end by themselves.
module RactorScript
  SECONDS = 60
  SHARED = <<~RUBY
    Warning[:experimental] = false
    def result_of(ractor) = ractor.respond_to?(:value) ? ractor.value : ractor.take
  RUBY
  private_constant :SECONDS, :SHARED

  # @return [Array<String>] the lines that it printed
  def run_ractors(script)
    lib = File.expand_path("../../lib", __dir__)
    IO.popen([RbConfig.ruby, "-I", lib, "-e", SHARED + script], err: %i[child out], pgroup: true) do |io|
      output = begin
        Timeout.timeout(SECONDS) { io.read }
      rescue Timeout::Error
        Process.kill(:KILL, -io.pid)
        "no end within #{SECONDS} s: #{io.read}"
      end
      Process.wait(io.pid)
      assert_predicate $?, :success?, output
      output.lines(chomp: true)
    end
  end
end
