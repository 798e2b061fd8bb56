# frozen_string_literal: true

namespace :tiercel do
  report = -> { Tiercel::Segment::Report.new }
  boot = -> { Rake::Task[:environment].invoke if Rake::Task.task_defined?(:environment) }
  missing = lambda do |task, name|
    raise ArgumentError, "#{name} missing: expected rake \"#{task.name}[#{task.arg_names.join(",").upcase}]\""
  end
  # Returns the path of a segment: the argument, or the path of the segment of Rails.cache.
  one = lambda do |task, path|
    if path.to_s.empty?
      boot.call
      path = report.call.own || missing.call(task, :path)
    end
    next path if File.exist?(path)
    raise Tiercel::Unavailable, "#{path} does not exist: rake tiercel:segments lists all segments"
  end

  desc "List the shared-memory segments of this user: size, fill, hit ratio, processes"
  task segments: "tiercel:segments:load" do
    print report.call.list
  end

  namespace :segments do
    task :load do
      require "tiercel"
      require "tiercel/segment"
    end

    desc "Remove this application's unused segments, except those of Rails.cache"
    task prune: :load do
      boot.call
      removed = report.call.prune
      puts(removed.empty? ? "Nothing to remove." : removed.map { |path| "Removed #{path}." })
    end

    desc "Resize a segment; the new one is empty, and processes switch to it immediately"
    task :resize, %i[path size] => :load do |task, arguments|
      missing.call(task, :size) unless arguments[:size]
      path = one.call(task, arguments[:path])
      size = Tiercel::Sizes.bytes(arguments[:size])
      Tiercel::Segment.replace(path, bytes: size)
      puts "Resized #{path} to #{Tiercel::Sizes.human(size)}; it is empty now."
    end

    desc "Remove a segment; processes that use it recreate it, empty, with their next call"
    task :remove, [:path] => :load do |task, arguments|
      path = one.call(task, arguments[:path])
      Tiercel::Segment.remove(path)
      puts "Removed #{path}. A process that uses it recreates it, empty, with its next call: stop it to free memory."
    end
  end
end
