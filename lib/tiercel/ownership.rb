# frozen_string_literal: true

require "pathname"

# Decides whether a path on disk can be trusted. In a folder where everybody may create files (`/tmp`), another user
# could have placed a file with values of their choice. Everything in such a folder that is part of the path, or of a
# path behind one of its links, must therefore belong to this user or to root.
module Tiercel::Ownership
  EVERYBODY_WRITES = 0o002
  # The maximum number of links, as in Linux.
  LINKS = 40

  # @param path [String] absolute path of a file or folder, which need not exist
  # @return [String, nil] the objection; nil if the path can be trusted
  def self.objection(path)
    ways = [Pathname.new(path.b)]
    while ways.size <= LINKS && (link = ways.last.descend.find(&:symlink?))
      ways << (link.parent + link.readlink.to_s.b + ways.last.relative_path_from(link))
    end
    ways.flat_map { |way| way.ascend.to_a }.each do |child|
      next unless child.exist? || child.symlink?
      next if child.parent.stat.mode.nobits?(EVERYBODY_WRITES) || [0, Process.euid].include?(child.lstat.uid)
      return "#{readable(child)} belongs to user #{child.lstat.uid}, this process runs as #{Process.euid}, and " \
             "everybody may write to #{readable(child.parent)}: give another path"
    end
    nil
  rescue SystemCallError
    nil # a file that cannot be examined cannot be opened either
  end

  # @param path [String] the path of a file
  # @return [String, nil] why the file's owner or mode denies access to this process; nil if access is allowed, or if
  #   the file does not exist or is in a folder that this process cannot enter
  def self.closed(path)
    stat = ::File.stat(path)
    return if stat.readable? && stat.writable?
    "#{readable(path)} belongs to user #{stat.uid} and has mode #{format("%04o", stat.mode & 0o7777)}. This process " \
      "runs as #{Process.euid} and cannot read and write it. Run it as that user, or give another path"
  rescue SystemCallError
    nil
  end

  def self.readable(path) = path.to_s.dup.force_encoding(Encoding::UTF_8).scrub
  private_class_method :readable
end
