# frozen_string_literal: true

namespace :tiercel do
  report = -> { Tiercel::Segment::Report.new }
  given = lambda do |task, arguments, *names|
    missing = names.reject { |name| arguments[name] }
    next arguments.to_h.values_at(*names) if missing.empty?
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
