# frozen_string_literal: true

require "etc"
require "time"

module Tiercel
  module Lab
    module Engine
      # The environment of a figure besides the code: machine, operating system, versions.
      module Machine
        module_function

        # @return [Hash{String => Object}] the form of the results file
        def describe
          uname = Etc.uname
          { "cpu" => cpu, "cores" => Etc.nprocessors, "memory_mb" => memory_mb, "virtual" => virtual?,
            "os" => os, "kernel" => uname[:release], "arch" => uname[:machine], "ruby" => RUBY_DESCRIPTION,
            "load_average" => read("/proc/loadavg")&.split&.first(3)&.map(&:to_f), "git" => git }
        end

        # @param facts [Hash] facts from {describe}
        # @return [String] one line
        def sentence(facts)
          [facts["cpu"], "#{facts["cores"]} cores", ("virtual" if facts["virtual"]), facts["os"],
           facts["ruby"][/\Aruby \S+/]].compact.join(", ")
        end

        def cpu
          read("/proc/cpuinfo")&.slice(/^model name\s*:\s*(.+)$/, 1) || "unknown CPU"
        end

        def memory_mb
          kilobytes = read("/proc/meminfo")&.slice(/^MemTotal:\s*(\d+)/, 1)
          kilobytes && (kilobytes.to_i / 1024)
        end

        def virtual? = read("/proc/cpuinfo")&.match?(/^flags.*\bhypervisor\b/)

        def os = read("/etc/os-release")&.slice(/^PRETTY_NAME="?([^"\n]+)/, 1) || Etc.uname[:sysname]

        def git
          folder = File.expand_path("../../../..", __dir__)
          sha = IO.popen(["git", "-C", folder, "rev-parse", "HEAD"], err: File::NULL, &:read).strip
          return nil if sha.empty?
          changes = IO.popen(["git", "-C", folder, "status", "--porcelain"], err: File::NULL, &:read)
          { "sha" => sha, "dirty" => !changes.empty? }
        rescue SystemCallError
          nil
        end

        def read(path)
          File.read(path)
        rescue SystemCallError
          nil
        end
        private_class_method :cpu, :memory_mb, :virtual?, :os, :git, :read
      end
    end
  end
end
