# frozen_string_literal: true

namespace :tiercel do
  report = -> { Tiercel::Segment::Report.new }
  own = lambda do |task|
    paths = report.call.own
    next paths.first if paths.size < 2
    raise ArgumentError, "this application has #{paths.size} segments, name one: rake \"#{task.name}[PATH]\" with " \
                         "PATH one of #{paths.join(", ")}"
  end
  given = lambda do |task, arguments, *names|
    arguments = arguments.to_h
    arguments = { **arguments, path: own.call(task) } if arguments[:path].to_s.empty?
    missing = names.reject { |name| arguments[name] }
    next arguments.values_at(*names) if missing.empty?
    raise ArgumentError, "#{missing.join(" and ")} missing: expected rake \"#{task.name}[#{names.join(",").upcase}]\""
  end

  desc "List the shared-memory segments of this user: size, fill, hit ratio, processes"
  task segments: "tiercel:segments:load" do
    print report.call.list
  end

  namespace :segments do
    task :load do
      require "tiercel"
      require "tiercel/segment/report"
    end

    desc "Show one segment: fill, hit ratio, evictions, biggest key prefixes"
    task :inspect, [:path] => :load do |task, arguments|
      print report.call.inspect_segment(*given.call(task, arguments, :path))
    end

    desc "Remove this application's segments of other secrets (asset builds, rotated ones) that no process uses"
    task prune: :load do
      removed = report.call.prune
      puts(removed.empty? ? "Nothing to remove." : removed.map { |path| "#{path} is removed." })
    end

    desc "Give a segment another size; it begins empty, and processes move to it at once"
    task :resize, %i[path size] => :load do |task, arguments|
      path, size = given.call(task, arguments, :path, :size)
      size = Tiercel::Sizes.bytes(size)
      Tiercel::Segment.replace(path, bytes: size)
      puts "#{path} has #{Tiercel::Sizes.human(size)} now and is empty."
    end

    desc "Remove a segment; processes that use it go on with a new one"
    task :remove, [:path] => :load do |task, arguments|
      path, = given.call(task, arguments, :path)
      unless File.exist?(path)
        raise Tiercel::Unavailable, "#{path} does not exist: rake tiercel:segments lists what does"
      end
      Tiercel::Segment.remove(path)
      puts "#{path} is removed."
    end
  end
end
