# frozen_string_literal: true

require "fileutils"
require "tmpdir"

module Tiercel
  module Lab
    module Engine
      # The run's own folders, one on a tmpfs and one on a disk, removed at its end.
      # Those of runs that were killed are removed by the next one.
      class Scratch
        NAME = "tiercel-lab-run"
        TMPFS = "/dev/shm"

        # @return [Hash{String => String}] by medium: "tmpfs" (where there is one) and "disk"
        attr_reader :folders

        # @param tmpfs [String] folder on a tmpfs; TIERCEL_LAB_TMPFS says another
        # @param disk [String] folder on a disk; TIERCEL_LAB_DISK says another
        def initialize(tmpfs: ENV.fetch("TIERCEL_LAB_TMPFS", TMPFS), disk: ENV.fetch("TIERCEL_LAB_DISK", disk_folder))
          FileUtils.mkdir_p(disk)
          @folders = { "tmpfs" => tmpfs, "disk" => disk }.filter_map do |medium, folder|
            next unless File.directory?(folder) && File.writable?(folder)
            sweep(folder)
            [medium, Dir.mktmpdir("#{NAME}-#{Process.pid}-", folder)]
          end.to_h
        end

        # @return [void]
        def remove = folders.each_value { |folder| FileUtils.rm_rf(folder) }

        private

        # The temporary folder is a tmpfs on many machines; the cache folder is where a cache would be.
        def disk_folder = File.join(ENV.fetch("XDG_CACHE_HOME") { File.expand_path("~/.cache") }, "tiercel-lab")

        def sweep(folder)
          Dir.glob(File.join(folder, "#{NAME}-*")).each do |path|
            pid = File.basename(path)[/\A#{NAME}-(\d+)-/o, 1].to_i
            FileUtils.rm_rf(path) if pid.positive? && gone?(pid)
          end
        end

        def gone?(pid)
          Process.kill(0, pid)
          false
        rescue Errno::ESRCH
          true
        rescue Errno::EPERM
          false
        end
      end
    end
  end
end
