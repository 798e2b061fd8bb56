# frozen_string_literal: true

namespace :tiercel do
  report = -> { Tiercel::Segment::Report.new }

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
    task :inspect, [:path] => :load do |_, arguments|
      print report.call.inspect_segment(arguments.fetch(:path))
    end

    desc "Give a segment another size; it begins empty, and processes move to it at once"
    task :resize, %i[path size] => :load do |_, arguments|
      path, size = arguments.fetch(:path), Tiercel::Sizes.bytes(arguments.fetch(:size))
      Tiercel::Segment.replace(path, bytes: size)
      puts "#{path} has #{Tiercel::Sizes.human(size)} now and is empty."
    end

    desc "Remove a segment; processes that use it go on with a new one"
    task :remove, [:path] => :load do |_, arguments|
      path = arguments.fetch(:path)
      Tiercel::Segment.remove(path)
      puts "#{path} is removed."
    end
  end
end
